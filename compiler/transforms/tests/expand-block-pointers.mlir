// RUN: heddle-opt %s --heddle-expand-block-pointers | FileCheck %s
// RUN: heddle-opt %s --heddle-expand-block-pointers > %t.once && heddle-opt %t.once --heddle-expand-block-pointers | diff %t.once -

// The first dimension is checked; the second is not.
// CHECK-LABEL: @copy
// CHECK-SAME: %[[A:.*]]: !tt.ptr<f16>, %[[B:.*]]: !tt.ptr<f16>, %[[M:.*]]: i64, %[[S:.*]]: i64, %[[O:.*]]: i32
// CHECK: %[[RANGE:.*]] = tt.make_range {end = 16 : i32, start = 0 : i32}
// CHECK: %[[WIDE:.*]] = arith.extsi %[[RANGE]] : tensor<16xi32> to tensor<16xi64>
// CHECK: %[[OX:.*]] = arith.extsi %[[O]] : i32 to i64
// CHECK: %[[OS:.*]] = tt.splat %[[OX]]
// CHECK: %[[ROWS:.*]] = arith.addi %[[OS]], %[[WIDE]] : tensor<16xi64>
// CHECK: %[[COLUMNS:.*]] = arith.addi {{.*}} : tensor<32xi64>
// CHECK: %[[P0:.*]] = tt.splat %[[A]] : !tt.ptr<f16> -> tensor<16x32x!tt.ptr<f16>>
// CHECK: %[[SS:.*]] = tt.splat %[[S]] : i64 -> tensor<16xi64>
// CHECK: %[[RO:.*]] = arith.muli %[[ROWS]], %[[SS]]
// CHECK: tt.expand_dims %[[RO]] {axis = 1 : i32} : tensor<16xi64> -> tensor<16x1xi64>
// CHECK: %[[P1:.*]] = tt.addptr %[[P0]]
// CHECK: tt.expand_dims %{{.*}} {axis = 0 : i32} : tensor<32xi64> -> tensor<1x32xi64>
// CHECK: %[[P2:.*]] = tt.addptr %[[P1]]
// CHECK: %[[ABOVE:.*]] = arith.cmpi sge, %[[ROWS]]
// CHECK: %[[BELOW:.*]] = arith.cmpi slt, %[[ROWS]]
// CHECK: %[[IN:.*]] = arith.andi %[[ABOVE]], %[[BELOW]] : tensor<16xi1>
// CHECK: %[[MASK:.*]] = tt.broadcast %{{.*}} : tensor<16x1xi1> -> tensor<16x32xi1>
// CHECK: %[[NAN:.*]] = arith.constant dense<0x7E00> : tensor<16x32xf16>
// CHECK: %[[V:.*]] = tt.load %[[P2]], %[[MASK]], %[[NAN]] cacheModifier = cg : tensor<16x32x!tt.ptr<f16>>
// CHECK: tt.store %{{.*}}, %[[V]] : tensor<16x32x!tt.ptr<f16>>
// CHECK-NOT: tensor_ptr
tt.func @copy(%a: !tt.ptr<f16>, %b: !tt.ptr<f16>, %m: i64, %s: i64, %o: i32) {
  %c0 = arith.constant 0 : i32
  %one = arith.constant 1 : i64
  %p = tt.make_tensor_ptr %a, [%m, %m], [%s, %one], [%o, %c0] {order = array<i32: 1, 0>} : <tensor<16x32xf16>>
  %v = tt.load %p cacheModifier = cg {boundaryCheck = array<i32: 0>, padding = 2 : i32} : !tt.ptr<tensor<16x32xf16>>
  %q = tt.make_tensor_ptr %b, [%m, %m], [%s, %one], [%o, %c0] {order = array<i32: 1, 0>} : <tensor<16x32xf16>>
  tt.store %q, %v : !tt.ptr<tensor<16x32xf16>>
  tt.return
}

// Carried through nested loops, a branch and a while loop: base, shape, strides, offset.
// CHECK-LABEL: @carried
// CHECK: scf.for {{.*}} -> (!tt.ptr<f32>, i64, i64, i32)
// CHECK: scf.for {{.*}} -> (!tt.ptr<f32>, i64, i64, i32)
// CHECK: tt.load {{.*}} : tensor<8x!tt.ptr<f32>>
// CHECK: arith.addi %{{.*}}, %arg3 : i32
// CHECK: scf.yield %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : !tt.ptr<f32>, i64, i64, i32
// CHECK: scf.if %{{.*}} -> (!tt.ptr<f32>, i64, i64, i32)
// CHECK: scf.while {{.*}} : (!tt.ptr<f32>, i64, i64, i32) -> (!tt.ptr<f32>, i64, i64, i32)
// CHECK: scf.condition(%{{.*}}) %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : !tt.ptr<f32>, i64, i64, i32
// CHECK: arith.select %arg4, {{.*}} : i32
// CHECK-NOT: !tt.ptr<tensor
tt.func @carried(%a: !tt.ptr<f32>, %m: i64, %n: i32, %step: i32, %c: i1) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1 : i64
  %p = tt.make_tensor_ptr %a, [%m], [%one], [%c0] {order = array<i32: 0>} : <tensor<8xf32>>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%q = %p) -> (!tt.ptr<tensor<8xf32>>) : i32 {
    %s = scf.for %j = %c0 to %n step %c1 iter_args(%t = %q) -> (!tt.ptr<tensor<8xf32>>) : i32 {
      %v = tt.load %t {boundaryCheck = array<i32: 0>} : !tt.ptr<tensor<8xf32>>
      %w = arith.addf %v, %v : tensor<8xf32>
      tt.store %t, %w {boundaryCheck = array<i32: 0>} : !tt.ptr<tensor<8xf32>>
      %t1 = tt.advance %t, [%step] : <tensor<8xf32>>
      scf.yield %t1 : !tt.ptr<tensor<8xf32>>
    } {tt.num_stages = 2 : i32}
    scf.yield %s : !tt.ptr<tensor<8xf32>>
  }
  %x = scf.if %c -> (!tt.ptr<tensor<8xf32>>) {
    %y = tt.advance %r, [%n] : <tensor<8xf32>>
    scf.yield %y : !tt.ptr<tensor<8xf32>>
  } else {
    scf.yield %r : !tt.ptr<tensor<8xf32>>
  }
  %u = scf.while (%z = %x) : (!tt.ptr<tensor<8xf32>>) -> (!tt.ptr<tensor<8xf32>>) {
    %k = tt.load %a : !tt.ptr<f32>
    %zero = arith.constant 0.0 : f32
    %more = arith.cmpf ogt, %k, %zero : f32
    scf.condition(%more) %z : !tt.ptr<tensor<8xf32>>
  } do {
  ^bb0(%z: !tt.ptr<tensor<8xf32>>):
    %z1 = tt.advance %z, [%c1] : <tensor<8xf32>>
    scf.yield %z1 : !tt.ptr<tensor<8xf32>>
  }
  %none = ub.poison : !tt.ptr<tensor<8xf32>>
  %same = arith.select %c, %u, %none : !tt.ptr<tensor<8xf32>>
  %either = arith.select %c, %same, %p : !tt.ptr<tensor<8xf32>>
  %v = tt.load %either : !tt.ptr<tensor<8xf32>>
  tt.store %p, %v : !tt.ptr<tensor<8xf32>>
  tt.return
}
