// Chips without matrix instructions with scales refuse a matmul by one.
// RUN: %fails1 heddle-opt %s --heddle-simt-to-threads 2>&1 | FileCheck %s
// RUN: sed 's/"gfx942"/"sm_90"/' %s > %t.mlir && %fails1 heddle-opt %t.mlir --heddle-simt-to-threads 2>&1 | FileCheck --check-prefix=NVIDIA %s
// RUN: sed 's/"gfx942"/"gfx950"/' %s | heddle-opt --heddle-simt-to-threads | FileCheck --check-prefix=HAS %s
// CHECK: error: 'simt.dot_scaled' op cannot be compiled: gfx942 has no matrix instruction with scales: multiply the elements by their scales before a plain matmul
// NVIDIA: error: 'simt.dot_scaled' op cannot be compiled: the chip has no matrix instruction with scales: multiply

// Without scales they are 1, four bytes of 127.
// HAS: %[[ONE:.*]] = arith.constant 2139062143 : i32
// HAS: rocdl.mfma.scale.f32.16x16x128.f8f6f4 {{.*}}%[[ONE]] :
#a = #simt.linear<register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 64]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 16], [0, 32]], warp = [], shape = [16, 128]>
#b = #simt.linear<register = [[1, 0], [2, 0], [4, 0], [8, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [16, 0], [32, 0]], warp = [], shape = [64, 16]>
#d = #simt.linear<register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 4], [0, 8]], warp = [], shape = [16, 16]>
module attributes {simt.target = "gfx942", simt.warps = 1 : i64} {
  tt.func public @product(%p: !tt.ptr<f32>) {
    %a = arith.constant dense<1> : tensor<16x128xi8, #a>
    %b = arith.constant dense<1> : tensor<64x16xi8, #b>
    %c = arith.constant dense<0.0> : tensor<16x16xf32, #d>
    %d = simt.dot_scaled %a as e4m3, %b as e2m1, %c by <16, 16, 128, transposed = true> : tensor<16x128xi8, #a> * tensor<64x16xi8, #b> -> tensor<16x16xf32, #d>
    %q = tt.splat %p : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>, #d>
    simt.store %q, %d : tensor<16x16x!tt.ptr<f32>, #d>
    tt.return
  }
}
