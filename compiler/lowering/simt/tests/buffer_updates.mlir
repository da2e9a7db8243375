// Updates of a buffer: one instruction each, whose mask is an offset outside of the buffer, without a branch; all fences of a
// tile stand around it. Masked elements change nothing and give 0.
// RUN: heddle compile %s --target gfx942 --from simplify-layouts -o %t.hpkg
// RUN: heddle inspect %t.hpkg --asm | FileCheck --check-prefix=ASM %s
// RUN: heddle run %t.hpkg --device sim:gfx942 --grid 1 --arg sum=i32[2] --arg bits=i64[128] --arg old=rand:f32[128]:3 --arg tops=f64[2] --arg limit=100 --out sum=- --out old=- --out tops=- | FileCheck %s
// RUN: heddle check %t.hpkg --grid 1 --arg sum=zeros:i32[2] --arg bits=zeros:i64[128] --arg old=zeros:f32[128] --arg tops=zeros:f64[2] --arg limit=100
// ASM-NOT: s_cbranch
// ASM: buffer_atomic_add v
// ASM: buffer_wbl2
// ASM: buffer_atomic_or_x2
// ASM: buffer_inv
// ASM: buffer_atomic_swap v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}], 0 offen sc0
// ASM: buffer_atomic_max_f64
// ASM: buffer_atomic_min_f64
// ASM-NOT: s_cbranch
// CHECK: sum: i32[2]
// CHECK-NEXT: {{^}}100 0
// CHECK-NEXT: old: f32[128]
// CHECK-NEXT: {{^}}-0.7730993 0.40058702 {{.*}} 0.77790356 -0.16210987{{( 0)+$}}
// CHECK-NEXT: tops: f64[2]
// CHECK-NEXT: {{^}}99.5 -98.5
// RUN: sed 's/add, relaxed, gpu/add, relaxed, sys/' %s > %t.mlir
// RUN: %fails2 heddle compile %t.mlir --target gfx942 --from simplify-layouts -o %t.x 2>&1 | FileCheck --check-prefix=SYSTEM %s
// SYSTEM: error: 'simt.buffer_atomic_rmw' cannot be compiled: the chip has no buffer instruction for it; `simt.atomic_rmw` takes pointers
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64]], shape = [128]>
module attributes {simt.target = "gfx942", simt.warps = 2 : i64} {
  tt.func public @updates(%sum: !tt.ptr<i32>, %bits: !tt.ptr<i64>, %old: !tt.ptr<f32>, %tops: !tt.ptr<f64>, %limit: i32) {
    %zeros = arith.constant dense<0> : tensor<128xi32, #l>
    %ones = arith.constant dense<1> : tensor<128xi32, #l>
    %range = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #l>
    %limits = tt.splat %limit : i32 -> tensor<128xi32, #l>
    %below = arith.cmpi slt, %range, %limits : tensor<128xi32, #l>
    simt.buffer_atomic_rmw add, relaxed, gpu, %sum[%zeros], %ones if %below : tensor<128xi1, #l> : !tt.ptr<i32>, tensor<128xi32, #l>, tensor<128xi32, #l>
    %long = arith.extsi %range : tensor<128xi32, #l> to tensor<128xi64, #l>
    simt.buffer_atomic_rmw or, acq_rel, gpu, %bits[%range], %long if %below : tensor<128xi1, #l> : !tt.ptr<i64>, tensor<128xi32, #l>, tensor<128xi64, #l>
    %float = arith.sitofp %range : tensor<128xi32, #l> to tensor<128xf32, #l>
    %before = simt.buffer_atomic_rmw exch, relaxed, cta, %old[%range], %float if %below : tensor<128xi1, #l> : !tt.ptr<f32>, tensor<128xi32, #l>, tensor<128xf32, #l> -> tensor<128xf32, #l>
    simt.buffer_store %before, %old[%range] by 1 : tensor<128xf32, #l>, !tt.ptr<f32>, tensor<128xi32, #l>
    %half = arith.constant dense<0.5> : tensor<128xf64, #l>
    %wide = arith.sitofp %range : tensor<128xi32, #l> to tensor<128xf64, #l>
    %top = arith.addf %wide, %half : tensor<128xf64, #l>
    simt.buffer_atomic_rmw max, relaxed, gpu, %tops[%zeros], %top if %below : tensor<128xi1, #l> : !tt.ptr<f64>, tensor<128xi32, #l>, tensor<128xf64, #l>
    %low = arith.subf %half, %wide : tensor<128xf64, #l>
    simt.buffer_atomic_rmw min, relaxed, gpu, %tops[%ones], %low if %below : tensor<128xi1, #l> : !tt.ptr<f64>, tensor<128xi32, #l>, tensor<128xf64, #l>
    tt.return
  }
}
