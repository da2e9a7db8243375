// `--check`: of a sum that its type may not hold the remainder may be negative, so that the number is asserted.
// RUN: heddle compile %s --from simplify-layouts --target gfx950 --check --to check-rings 2>/dev/null | FileCheck %s
// CHECK: %[[SLOT:.*]] = arith.remsi
// CHECK: %[[IN:.*]] = arith.cmpi ult, %[[SLOT]], %c2_i32
// CHECK-NEXT: tt.assert %[[IN]]
// CHECK-NEXT: simt.load_shared %{{.*}}[%[[SLOT]]]
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64], [128], [256]], shape = [512]>
!ring = !simt.shared<2 * 512xi32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256]]>
module attributes {simt.target = "gfx950", simt.warps = 8 : i64} {
  tt.func public @kernel(%p: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %large = arith.constant 1073741824 : i32
    %x = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, #l>
    %m = simt.alloc : !ring
    simt.store_shared %x, %m[%c0] : tensor<512xi32, #l>, !ring
    simt.store_shared %x, %m[%c1] : tensor<512xi32, #l>, !ring
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%v = %x) -> (tensor<512xi32, #l>) : i32 {
      %once = arith.addi %i, %large : i32
      %twice = arith.addi %once, %large : i32
      %slot = arith.remsi %twice, %c2 : i32
      %y = simt.load_shared %m[%slot] : !ring -> tensor<512xi32, #l>
      %w = arith.addi %v, %y : tensor<512xi32, #l>
      scf.yield %w : tensor<512xi32, #l>
    }
    simt.buffer_store %sum, %p[%x] by 1 : tensor<512xi32, #l>, !tt.ptr<i32>, tensor<512xi32, #l>
    tt.return
  }
}
