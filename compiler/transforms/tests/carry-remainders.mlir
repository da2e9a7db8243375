// RUN: heddle-opt %s --heddle-carry-remainders | FileCheck %s

// Slots of a ring of 3: one addition, comparison and select for each; the constants are folded later.
// CHECK-LABEL: tt.func @ring
// CHECK-DAG: %[[FIRST:.*]] = arith.constant 2 : i32
// CHECK-DAG: %[[SECOND:.*]] = arith.constant 1 : i32
// CHECK: scf.for {{.*}} iter_args(%[[X:[a-z0-9]+]] = %{{.*}}, %[[A:[a-z0-9]+]] = %{{[a-z0-9_]+}}, %[[B:[a-z0-9]+]] = %{{[a-z0-9_]+}})
// CHECK-NOT: arith.rem
// CHECK: tt.print{{.*}} : %[[A]], %[[B]]
// CHECK: %[[SUM:.*]] = arith.addi %[[A]]
// CHECK: %[[WRAPS:.*]] = arith.cmpi uge, %[[SUM]]
// CHECK: %[[LESS:.*]] = arith.subi %[[SUM]]
// CHECK: arith.select %[[WRAPS]], %[[LESS]], %[[SUM]]
tt.func @ring(%n: i32, %x: f32) -> f32 {
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %r = scf.for %k = %c2 to %n step %c1 iter_args(%y = %x) -> (f32) : i32 {
    %a = arith.remsi %k, %c3 : i32
    %ahead = arith.addi %k, %c2 : i32
    %b = arith.remui %ahead, %c3 : i32
    tt.print "" {hex = false, isSigned = array<i32: 1, 1>} : %a, %b : i32, i32
    scf.yield %y : f32
  }
  tt.return %r : f32
}

// In an inner loop the number stays that of the outer one's counter; a mask stays one.
// CHECK-LABEL: tt.func @inner
// CHECK: scf.for {{.*}} iter_args
// CHECK: scf.for
// CHECK-NOT: iter_args
// CHECK: arith.remsi %{{.*}}, %c4
// CHECK-NOT: arith.remsi
tt.func @inner(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %c5 = arith.constant 5 : i32
  scf.for %k = %c0 to %n step %c1 : i32 {
    scf.for %i = %n to %n step %c1 : i32 {
      %a = arith.remsi %k, %c5 : i32
      %b = arith.remsi %k, %c4 : i32
      tt.print "" {hex = false, isSigned = array<i32: 1, 1>} : %a, %b : i32, i32
    }
  }
  tt.return
}

// Not where the counter may be negative, nor from where that is not known, nor of other values.
// CHECK-LABEL: tt.func @unknown
// CHECK-NOT: iter_args
tt.func @unknown(%n: i32) {
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %less = arith.constant -2 : i32
  scf.for %k = %n to %n step %c1 : i32 {
    %a = arith.remsi %k, %c3 : i32
    tt.print "" {hex = false, isSigned = array<i32: 1>} : %a : i32
  }
  scf.for %k = %less to %n step %c1 : i32 {
    %a = arith.remsi %k, %c3 : i32
    tt.print "" {hex = false, isSigned = array<i32: 1>} : %a : i32
  }
  scf.for %k = %c1 to %n step %c1 : i32 {
    %minus = arith.addi %k, %less : i32
    %a = arith.remsi %minus, %c3 : i32
    %plus = arith.addi %k, %c1 : i32 // may be negative, when k is the largest number
    %d = arith.remsi %plus, %c3 : i32
    %b = arith.remsi %n, %c3 : i32
    tt.print "" {hex = false, isSigned = array<i32: 1, 1, 1>} : %a, %b, %d : i32, i32, i32
  }
  tt.return
}

// As a slot it cannot be negative.
!ring = !simt.shared<3 * 8xf32, offset = [[1], [2], [4]]>
!tile = !simt.shared<1 * 8xf32, offset = [[1], [2], [4]]>
// CHECK-LABEL: @slot
// CHECK: scf.for {{.*}} iter_args(%[[S:[a-z0-9]+]] =
// CHECK: simt.index %{{.*}}[%[[S]]]
tt.func @slot(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %ring = simt.alloc : !ring
  scf.for %k = %c0 to %n step %c1 : i32 {
    %plus = arith.addi %k, %c1 : i32
    %s = arith.remsi %plus, %c3 : i32
    %tile = simt.index %ring[%s] : !ring -> !tile
  }
  tt.return
}
