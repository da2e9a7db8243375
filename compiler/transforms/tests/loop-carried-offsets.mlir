// RUN: heddle-opt %s --heddle-loop-carried-offsets | FileCheck %s
// RUN: heddle-opt %s --heddle-loop-carried-offsets > %t.once && heddle-opt %t.once --heddle-loop-carried-offsets | diff %t.once -

// Two tiles of pointers, moved by a constant and by a scalar, the tile of the second used after the loop.
// CHECK-LABEL: tt.func private @matmul_pointers
// CHECK-SAME: (%[[A:.*]]: tensor<64x!tt.ptr<f16>>, %[[B:.*]]: tensor<64x!tt.ptr<f16>>, %[[S:.*]]: i32, %[[N:.*]]: i32)
// CHECK: %[[LOOP:.*]]:2 = scf.for {{.*}} iter_args(%[[I:.*]] = %{{.*}}, %[[J:.*]] = %{{.*}}) -> (i64, i64) : i32
// CHECK-DAG: %[[SI:.*]] = tt.splat %[[I]] : i64 -> tensor<64xi64>
// CHECK-DAG: %[[PI:.*]] = tt.addptr %[[A]], %[[SI]] : tensor<64x!tt.ptr<f16>>, tensor<64xi64>
// CHECK-DAG: %[[SJ:.*]] = tt.splat %[[J]] : i64 -> tensor<64xi64>
// CHECK-DAG: %[[PJ:.*]] = tt.addptr %[[B]], %[[SJ]] : tensor<64x!tt.ptr<f16>>, tensor<64xi64>
// CHECK: %[[V:.*]] = tt.load %[[PI]]
// CHECK: tt.store %[[PJ]], %[[V]]
// CHECK: %[[STEP:.*]] = arith.muli %[[S]]
// CHECK: %[[CI:.*]] = arith.constant 32 : i64
// CHECK: %[[NI:.*]] = arith.addi %[[I]], %[[CI]] : i64
// CHECK: %[[CJ:.*]] = arith.extsi %[[STEP]] : i32 to i64
// CHECK: %[[NJ:.*]] = arith.addi %[[J]], %[[CJ]] : i64
// CHECK: scf.yield %[[NI]], %[[NJ]] : i64, i64
// CHECK: %[[SR:.*]] = tt.splat %[[LOOP]]#1
// CHECK: %[[R:.*]] = tt.addptr %[[B]], %[[SR]]
// CHECK: tt.load %[[R]]
tt.func private @matmul_pointers(%a: tensor<64x!tt.ptr<f16>>, %b: tensor<64x!tt.ptr<f16>>, %s: i32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c32 = arith.constant 32 : i32
  %step = arith.constant dense<32> : tensor<64xi32>
  %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %a, %q = %b) -> (tensor<64x!tt.ptr<f16>>, tensor<64x!tt.ptr<f16>>) : i32 {
    %v = tt.load %p : tensor<64x!tt.ptr<f16>>
    tt.store %q, %v : tensor<64x!tt.ptr<f16>>
    %p1 = tt.addptr %p, %step : tensor<64x!tt.ptr<f16>>, tensor<64xi32>
    %bytes = arith.muli %s, %c32 : i32
    %splat = tt.splat %bytes : i32 -> tensor<64xi32>
    %q1 = tt.addptr %q, %splat : tensor<64x!tt.ptr<f16>>, tensor<64xi32>
    scf.yield %p1, %q1 : tensor<64x!tt.ptr<f16>>, tensor<64x!tt.ptr<f16>>
  } {tt.num_stages = 2 : i32}
  %last = tt.load %r#1 : tensor<64x!tt.ptr<f16>>
  tt.store %a, %last : tensor<64x!tt.ptr<f16>>
  tt.return
}

// A chain of steps through a broadcast, whose middle is read too.
// CHECK-LABEL: @chain
// CHECK: scf.for {{.*}} iter_args(%[[O:.*]] = %{{.*}}) -> (i64)
// CHECK: %[[P:.*]] = tt.addptr %arg0, %{{.*}} : tensor<4x8x!tt.ptr<f32>>, tensor<4x8xi64>
// CHECK: %[[MIDDLE:.*]] = tt.addptr %[[P]]
// CHECK: tt.load %[[MIDDLE]]
// CHECK-NOT: tt.addptr
// CHECK: %[[E:.*]] = arith.extsi %arg1 : i32 to i64
// CHECK: %[[S1:.*]] = arith.addi %[[O]], %[[E]] : i64
// CHECK: %[[S2:.*]] = arith.addi %[[S1]], %arg2 : i64
// CHECK: scf.yield %[[S2]]
tt.func @chain(%p: tensor<4x8x!tt.ptr<f32>>, %s: i32, %t: i64, %n: i64) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %row = tt.splat %s : i32 -> tensor<1x8xi32>
  %both = tt.broadcast %row : tensor<1x8xi32> -> tensor<4x8xi32>
  %wide = tt.splat %t : i64 -> tensor<4x8xi64>
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %p) -> (tensor<4x8x!tt.ptr<f32>>) : i64 {
    %q1 = tt.addptr %q, %both : tensor<4x8x!tt.ptr<f32>>, tensor<4x8xi32>
    %v = tt.load %q1 : tensor<4x8x!tt.ptr<f32>>
    tt.store %p, %v : tensor<4x8x!tt.ptr<f32>>
    %q2 = tt.addptr %q1, %wide : tensor<4x8x!tt.ptr<f32>>, tensor<4x8xi64>
    scf.yield %q2 : tensor<4x8x!tt.ptr<f32>>
  }
  tt.return
}

// Index tiles wrap in their own width; the sum may stand either way round.
// CHECK-LABEL: @indices
// CHECK: scf.for {{.*}} iter_args(%[[I:.*]] = %{{.*}}, %[[J:.*]] = %{{.*}}) -> (i32, i32)
// CHECK: %[[NI:.*]] = arith.addi %[[I]], %{{.*}} : i32
// CHECK: %[[NJ:.*]] = arith.subi %[[J]], %arg1 : i32
// CHECK: scf.yield %[[NI]], %[[NJ]] : i32, i32
tt.func @indices(%p: tensor<8x!tt.ptr<i32>>, %s: i32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c8 = arith.constant dense<8> : tensor<8xi32>
  %down = tt.splat %s : i32 -> tensor<8xi32>
  %range = tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
  %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%i = %range, %j = %range) -> (tensor<8xi32>, tensor<8xi32>) : i32 {
    %both = arith.muli %i, %j : tensor<8xi32>
    tt.store %p, %both : tensor<8x!tt.ptr<i32>>
    %i1 = arith.addi %c8, %i : tensor<8xi32>
    %j1 = arith.subi %j, %down : tensor<8xi32>
    scf.yield %i1, %j1 : tensor<8xi32>, tensor<8xi32>
  }
  tt.return
}

// What the inner loop leaves is a uniform step of the outer one.
// CHECK-LABEL: @nested
// CHECK: scf.for {{.*}} iter_args(%[[OUTER:.*]] = %{{.*}}) -> (i64)
// CHECK: %[[INNER:.*]] = scf.for {{.*}} -> (i64)
// CHECK: %[[NEXT:.*]] = arith.addi %[[OUTER]], %[[INNER]] : i64
// CHECK: scf.yield %[[NEXT]] : i64
tt.func @nested(%p: tensor<8x!tt.ptr<f32>>, %v: tensor<8xf32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c8 = arith.constant dense<8> : tensor<8xi32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%q = %p) -> (tensor<8x!tt.ptr<f32>>) : i32 {
    %s = scf.for %j = %c0 to %n step %c1 iter_args(%t = %q) -> (tensor<8x!tt.ptr<f32>>) : i32 {
      tt.store %t, %v : tensor<8x!tt.ptr<f32>>
      %t1 = tt.addptr %t, %c8 : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
      scf.yield %t1 : tensor<8x!tt.ptr<f32>>
    }
    scf.yield %s : tensor<8x!tt.ptr<f32>>
  }
  tt.return
}

// Uniform arithmetic is repeated on scalars.
// CHECK-LABEL: @uniform_arithmetic
// CHECK: scf.for
// CHECK: %[[M:.*]] = arith.muli %arg1, %{{.*}} : i32
// CHECK: %[[X:.*]] = arith.extsi %[[M]] : i32 to i64
// CHECK: arith.addi %{{.*}}, %[[X]] : i64
tt.func @uniform_arithmetic(%p: tensor<8x!tt.ptr<f32>>, %s: i32, %n: i32, %v: tensor<8xf32>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c8 = arith.constant dense<8> : tensor<8xi32>
  %splat = tt.splat %s : i32 -> tensor<8xi32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%q = %p) -> (tensor<8x!tt.ptr<f32>>) : i32 {
    tt.store %q, %v : tensor<8x!tt.ptr<f32>>
    %product = arith.muli %splat, %c8 : tensor<8xi32>
    %q1 = tt.addptr %q, %product : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    scf.yield %q1 : tensor<8x!tt.ptr<f32>>
  }
  tt.return
}

// An increment that differs between elements is left alone, and so is a tile that is replaced.
// CHECK-LABEL: @not_uniform
// CHECK: scf.for {{.*}} -> (tensor<8x!tt.ptr<f32>>, tensor<8xi32>)
tt.func @not_uniform(%p: tensor<8x!tt.ptr<f32>>, %q: tensor<8x!tt.ptr<i32>>, %v: tensor<8xf32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %range = tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %p, %u = %range) -> (tensor<8x!tt.ptr<f32>>, tensor<8xi32>) : i32 {
    tt.store %t, %v : tensor<8x!tt.ptr<f32>>
    %t1 = tt.addptr %t, %range : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    %u1 = tt.load %q : tensor<8x!tt.ptr<i32>>
    scf.yield %t1, %u1 : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  }
  tt.return
}
