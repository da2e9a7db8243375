// Swaps under a mask, and a wait whose answer nothing asks for: what the mask forbids stays, and so does what is not as
// expected.
// RUN: heddle compile %s --target gfx942 --from simplify-layouts -o %t.hpkg
// RUN: heddle run %t.hpkg --device sim:gfx942 --grid 1 --arg out=i32[128] --arg flag=i32[1] --out out=- | FileCheck %s
// RUN: heddle check %t.hpkg --grid 1 --arg out=zeros:i32[128] --arg flag=zeros:i32[1]
// CHECK: out: i32[128]
// CHECK-NEXT: {{^}}1 2 3 4 5 6 7 8 9 1 0 0 {{[0 ]*$}}
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64]], shape = [128]>
module attributes {simt.target = "gfx942", simt.warps = 2 : i64} {
  tt.func public @swaps(%out: !tt.ptr<i32>, %flag: !tt.ptr<i32>) {
    %one = arith.constant 1 : i32
    %zeros = arith.constant dense<0> : tensor<128xi32, #l>
    %ones = arith.constant dense<1> : tensor<128xi32, #l>
    %ten = arith.constant dense<10> : tensor<128xi32, #l>
    %range = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #l>
    %numbers = arith.addi %range, %ones : tensor<128xi32, #l>
    %first = arith.cmpi slt, %range, %ten : tensor<128xi32, #l>
    %base = tt.splat %out : !tt.ptr<i32> -> tensor<128x!tt.ptr<i32>, #l>
    %places = tt.addptr %base, %range : tensor<128x!tt.ptr<i32>, #l>, tensor<128xi32, #l>
    simt.atomic_store release, gpu, %flag, %one : !tt.ptr<i32>
    simt.atomic_wait acquire, gpu, %flag, %one : !tt.ptr<i32>
    simt.atomic_cas relaxed, gpu, %places, %zeros, %numbers if %first : tensor<128x!tt.ptr<i32>, #l>
    simt.atomic_cas relaxed, gpu, %places, %ten, %zeros if %first : tensor<128x!tt.ptr<i32>, #l>
    simt.atomic_cas relaxed, gpu, %places, %zeros, %ones if %first : tensor<128x!tt.ptr<i32>, #l>
    tt.return
  }
}
