// Copies by pointers wait for the LDS operations of lanes that exchange values, wherever LLVM places these among them.
// RUN: heddle compile %s --target gfx942 --from place-shared-memory -o %t.hpkg
// RUN: heddle check %t.hpkg --grid 1 --arg p=rand:f32[4096]:1 --arg idx=rand:i32[4096]:2 --arg out=f32[4096] --arg stride=0 | FileCheck %s
// CHECK: clean
#l = #simt.linear<register = [[64], [128], [256], [512], [1024], [2048]], lane = [[1], [2], [4], [8], [16], [32]], warp = [], shape = [4096]>
#m = #simt.linear<register = [[64], [128], [256], [512], [1024], [2048]], lane = [[2], [1], [32], [16], [8], [4]], warp = [], shape = [4096]>
!ring = !simt.shared<1 * 4096xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256], [512], [1024], [2048]]>
module attributes {simt.target = "gfx942", simt.warps = 1 : i64} {
  tt.func public @k(%p: !tt.ptr<f32>, %idx: !tt.ptr<i32>, %out: !tt.ptr<f32>, %stride: i64) {
    %o = tt.make_range {start = 0 : i32, end = 4096 : i32} : tensor<4096xi32, #l>
    %om = tt.make_range {start = 0 : i32, end = 4096 : i32} : tensor<4096xi32, #m>
    %st = tt.splat %stride : i64 -> tensor<4096xi64, #l>
    %ps = tt.splat %p : !tt.ptr<f32> -> tensor<4096x!tt.ptr<f32>, #l>
    %is = tt.splat %idx : !tt.ptr<i32> -> tensor<4096x!tt.ptr<i32>, #m>
    %ip = tt.addptr %is, %om : tensor<4096x!tt.ptr<i32>, #m>, tensor<4096xi32, #m>
    %c0 = arith.constant 0 : i32
    %ring = simt.alloc at 0 : !ring
    %x = simt.load %ip : tensor<4096x!tt.ptr<i32>, #m>
    simt.barrier
    %y = simt.convert_layout %x : tensor<4096xi32, #m> -> tensor<4096xi32, #l>
    %yw = arith.extsi %y : tensor<4096xi32, #l> to tensor<4096xi64, #l>
    %far = arith.muli %yw, %st : tensor<4096xi64, #l>
    %pf = tt.addptr %ps, %far : tensor<4096x!tt.ptr<f32>, #l>, tensor<4096xi64, #l>
    simt.async_copy %pf to %ring[%c0] by 1 : tensor<4096x!tt.ptr<f32>, #l>, !ring
    simt.async_commit
    simt.async_wait 0
    simt.barrier
    %z = simt.load_shared %ring[%c0] : !ring -> tensor<4096xf32, #l>
    simt.buffer_store %z, %out[%o] by 1 : tensor<4096xf32, #l>, !tt.ptr<f32>, tensor<4096xi32, #l>
    tt.return
  }
}
