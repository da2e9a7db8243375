// RUN: heddle-opt %s --heddle-inline-calls --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s
// RUN: heddle-opt %s --heddle-inline-calls > %t.once && heddle-opt %t.once --heddle-inline-calls | diff %t.once -

// A helper that calls a helper, from nested loops; another returns early. Locations name the helper first.
// CHECK-LABEL: tt.func public @kernel
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[S:.*]] = arith.muli %{{.*}}, %{{.*}} : i32 loc(callsite(callsite("k.py":3:1 at "k.py":7:1) at "k.py":20:1))
// CHECK: %[[T:.*]] = arith.addi %[[S]], %{{.*}} : i32
// CHECK: %[[U:.*]] = scf.if %{{.*}} -> (i32)
// CHECK: tt.store %{{.*}}, %[[U]]
// CHECK-NOT: tt.call
// CHECK-NOT: tt.func
tt.func public @kernel(%p: !tt.ptr<i32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    scf.for %j = %c0 to %n step %c1 : i32 {
      %t = tt.call @"mod.sum"(%i, %j) : (i32, i32) -> i32 loc("k.py":20:1)
      %u = tt.call @early(%t) : (i32) -> i32
      tt.store %p, %u : !tt.ptr<i32>
    }
  }
  tt.return
}
tt.func private @"mod.sum"(%a: i32, %b: i32) -> i32 {
  %s = tt.call @square(%a) : (i32) -> i32 loc("k.py":7:1)
  %t = arith.addi %s, %b : i32
  tt.return %t : i32
}
tt.func private @square(%a: i32) -> i32 attributes {noinline = true} {
  %s = arith.muli %a, %a : i32 loc("k.py":3:1)
  tt.return %s : i32
}
tt.func private @early(%a: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %negative = arith.cmpi slt, %a, %c0 : i32
  cf.cond_br %negative, ^zero, ^rest
^zero:
  tt.return %c0 : i32
^rest:
  %d = arith.addi %a, %a : i32
  tt.return %d : i32
}
