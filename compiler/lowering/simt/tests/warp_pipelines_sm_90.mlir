// On sm_90 the barriers of a warp pipeline are a named one, of all threads: no other barrier of the block completes it.
// Priorities have no meaning there.
// RUN: heddle compile %s --target sm_90 --from simplify-layouts --to insert-barriers | FileCheck %s
// RUN: heddle compile %s --target sm_90 --from simplify-layouts --to asm | FileCheck %s --check-prefix=PTX
// RUN: heddle compile %s --target sm_90 --from simplify-layouts --to asm --warp-pipeline off | FileCheck %s --check-prefix=OFF
// CHECK-NOT: simt.set_priority
// CHECK-NOT: simt.schedule_barrier
// CHECK: simt.barrier shared
// CHECK-NEXT: simt.shift_warps
// CHECK-NEXT: scf.for
// CHECK: simt.stage "memory" priority 1
// CHECK: }
// CHECK-NEXT: simt.barrier bare
// CHECK-NEXT: simt.stage "sums" priority 0
// CHECK: }
// CHECK-NEXT: simt.barrier shared
// CHECK: simt.align_warps
// CHECK-NOT: simt.set_priority
// PTX: bar.sync 0;
// PTX: setp.lt.u32 [[LOWER:%p[0-9]+]], %r{{[0-9]+}}, 128;
// PTX-NEXT: @[[LOWER]] bra
// PTX-NEXT: bar.sync 1, 256;
// PTX-COUNT-2: bar.sync 1, 256;
// PTX: setp.gt.u32 [[UPPER:%p[0-9]+]], %r{{[0-9]+}}, 127;
// PTX-NEXT: @[[UPPER]] bra
// PTX-NEXT: bar.sync 1, 256;
// PTX-NOT: bar.sync 1
// OFF-NOT: bar.sync 1
#l = #simt.linear<register = [[256]], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64], [128]], shape = [512]>
#r = #simt.linear<register = [[256]], lane = [[64], [128], [1], [2], [4]], warp = [[8], [16], [32]], shape = [512]>
!ring = !simt.shared<4 * 512xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256]]>
module attributes {simt.target = "sm_90", simt.warps = 8 : i64} {
  tt.func public @two(%in: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %out: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c4 = arith.constant 4 : i32
    %zero = arith.constant dense<0.0> : tensor<512xf32, #r>
    %x = arith.constant dense<1.0> : tensor<512xf32, #l>
    %ring = simt.alloc : !ring
    simt.store_shared %x, %ring[%c0] : tensor<512xf32, #l>, !ring
    simt.store_shared %x, %ring[%c1] : tensor<512xf32, #l>, !ring
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (tensor<512xf32, #r>) : i32 {
      %read = arith.remsi %i, %c4 : i32
      %ahead = arith.addi %i, %c2 : i32
      %write = arith.remsi %ahead, %c4 : i32
      %y = simt.stage "memory" priority 1 -> tensor<512xf32, #r> {
        %y = simt.load_shared %ring[%read] : !ring -> tensor<512xf32, #r>
        simt.store_shared %x, %ring[%write] : tensor<512xf32, #l>, !ring
        simt.yield %y : tensor<512xf32, #r>
      }
      %t = simt.stage "sums" priority 0 -> tensor<512xf32, #r> {
        %t = arith.addf %s, %y : tensor<512xf32, #r>
        simt.yield %t : tensor<512xf32, #r>
      }
      scf.yield %t : tensor<512xf32, #r>
    }
    %p = tt.splat %out : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, #r>
    %o = tt.make_range {start = 0 : i32, end = 512 : i32} : tensor<512xi32, #r>
    %q = tt.addptr %p, %o : tensor<512x!tt.ptr<f32>, #r>, tensor<512xi32, #r>
    simt.store %q, %sum by 1 along 0 : tensor<512x!tt.ptr<f32>, #r>
    tt.return
  }
}
