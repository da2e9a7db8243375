// A matmul with scales by the chip's instruction: two blocks of rows, 256 deep. A lane gives two runs of 16 bytes of a row
// of 8 bits, one of 4 bits. The four scales that a thread has of A, and the two of B, are a word; instructions name bytes.
// RUN: heddle-opt %s --heddle-simt-to-threads | FileCheck %s
// RUN: heddle compile %s --target gfx950 --from simplify-layouts --to asm | FileCheck --check-prefix=ASM %s

// Results are transposed: B comes first, of format 4, then A, of 0; numbers of bytes count along K, then rows.
// CHECK: %[[WB:.*]] = llvm.bitcast %{{.*}} : vector<4xi8> to i32
// CHECK: rocdl.mfma.scale.f32.16x16x128.f8f6f4 %[[B0:[^,]*]], %[[A0:[^,]*]], %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[SB:[^,]*]], %{{[^,]*}}, %[[SA:[^ ]*]] : (vector<4xi32>, vector<8xi32>, vector<4xf32>, i32, i32, i32, i32, i32, i32) -> vector<4xf32>
// CHECK: rocdl.mfma.scale.f32.16x16x128.f8f6f4 %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[SB]], %{{[^,]*}}, %[[SA]] :
// CHECK-COUNT-2: rocdl.mfma.scale.f32.16x16x128.f8f6f4 
// CHECK-NOT: mfma
// ASM: v_mfma_scale_f32_16x16x128_f8f6f4 {{v\[[0-9:]*\], v\[[0-9:]*\], v\[[0-9:]*\], .*}}, [[SB:v[0-9]+]], [[SA:v[0-9]+]] op_sel_hi:[0,0,0] cbsz:4
// ASM: v_mfma_scale_f32_16x16x128_f8f6f4 {{.*}}, [[SB]], [[SA]] {{.*}} cbsz:4
#a = #simt.linear<register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 64], [0, 128], [16, 0]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 16], [0, 32]], warp = [], shape = [32, 256]>
#b = #simt.linear<register = [[1, 0], [2, 0], [4, 0], [8, 0], [64, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [16, 0], [32, 0]], warp = [], shape = [128, 16]>
#sa = #simt.linear<register = [[0, 4], [16, 0]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 1], [0, 2]], warp = [], shape = [32, 8]>
#sb = #simt.linear<register = [[0, 4]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 1], [0, 2]], warp = [], shape = [16, 8]>
#d = #simt.linear<register = [[0, 1], [0, 2], [16, 0]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 4], [0, 8]], warp = [], shape = [32, 16]>
module attributes {simt.target = "gfx950", simt.warps = 1 : i64} {
  tt.func public @product(%p: !tt.ptr<i8>, %q: !tt.ptr<f32>, %o: i32) {
    %ao = tt.splat %o : i32 -> tensor<32x256xi32, #a>
    %a = simt.buffer_load %p[%ao] by 1 : !tt.ptr<i8>, tensor<32x256xi32, #a> -> tensor<32x256xi8, #a>
    %bo = tt.splat %o : i32 -> tensor<128x16xi32, #b>
    %b = simt.buffer_load %p[%bo] by 1 : !tt.ptr<i8>, tensor<128x16xi32, #b> -> tensor<128x16xi8, #b>
    %sao = tt.splat %o : i32 -> tensor<32x8xi32, #sa>
    %sa = simt.buffer_load %p[%sao] by 1 : !tt.ptr<i8>, tensor<32x8xi32, #sa> -> tensor<32x8xi8, #sa>
    %sbo = tt.splat %o : i32 -> tensor<16x8xi32, #sb>
    %sb = simt.buffer_load %p[%sbo] by 1 : !tt.ptr<i8>, tensor<16x8xi32, #sb> -> tensor<16x8xi8, #sb>
    %c = arith.constant dense<0.0> : tensor<32x16xf32, #d>
    %d = simt.dot_scaled %a as e4m3 scale %sa, %b as e2m1 scale %sb, %c by <16, 16, 128, transposed = true> : tensor<32x256xi8, #a>, tensor<32x8xi8, #sa> * tensor<128x16xi8, #b>, tensor<16x8xi8, #sb> -> tensor<32x16xf32, #d>
    %do = tt.splat %o : i32 -> tensor<32x16xi32, #d>
    simt.buffer_store %d, %q[%do] by 1 : tensor<32x16xf32, #d>, !tt.ptr<f32>, tensor<32x16xi32, #d>
    tt.return
  }
}
