// RUN: heddle-opt %s -split-input-file -verify-diagnostics -heddle-find-stages | FileCheck %s
// Stages of loops over matmuls that read a ring of tiles: a loop in a loop, whose operand the outer loop carries; an operand
// that the loop itself carries; a number that a tile gives; and loops that have none.

// An operand from the outer loop takes registers, like what the loop carries.
// CHECK-LABEL: @nested
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[X:.*]] = %
// CHECK: simt.async_wait 1
// CHECK: scf.for
// CHECK: simt.stage "memory" priority 0
// CHECK: simt.load_shared
// CHECK: simt.async_wait 1
// CHECK-NEXT: simt.stage "matmul" priority 1
// CHECK-NEXT: simt.dot %[[X]],
// CHECK: simt.async_wait 0
#sums = #simt.linear<register = [[0, 1], [0, 2], [0, 8], [0, 16], [0, 128], [64, 0]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 4]], warp = [[0, 32], [0, 64], [32, 0]], shape = [128, 256]>
#a = #simt.linear<register = [[0, 1], [0, 2], [0, 4], [0, 16], [0, 32], [64, 0]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 8]], warp = [[0, 0], [0, 0], [32, 0]], shape = [128, 64]>
#b = #simt.linear<register = [[1, 0], [2, 0], [4, 0], [16, 0], [32, 0], [0, 128]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [8, 0]], warp = [[0, 32], [0, 64], [0, 0]], shape = [64, 256]>
#copy = #simt.linear<register = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [0, 64], [0, 128], [1, 16]], warp = [[2, 32], [4, 0], [8, 0]], shape = [64, 256]>
!ring = !simt.shared<3 * 64x256xbf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64], [0, 128], [1, 16], [2, 32], [4, 0], [8, 0], [16, 0], [32, 0]]>
module attributes {simt.target = "gfx950", simt.warps = 8 : i64} {
  tt.func private @nested(%p: !tt.ptr<bf16> {tt.divisibility = 16 : i32}, %n: i32) -> tensor<128x256xf32, #sums> {
    %zero = arith.constant dense<0.0> : tensor<128x256xf32, #sums>
    %x = arith.constant dense<1.0> : tensor<128x64xbf16, #a>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c3 = arith.constant 3 : i32
    %offsets = arith.constant dense<0> : tensor<64x256xi32, #copy>
    %tiles = simt.alloc : !ring
    %all:2 = scf.for %o = %c0 to %n step %c1 iter_args(%before = %zero, %turned = %x) -> (tensor<128x256xf32, #sums>, tensor<128x64xbf16, #a>) : i32 {
      simt.async_buffer_copy %p[%offsets] to %tiles[%c0] by 8 : !tt.ptr<bf16>, tensor<64x256xi32, #copy>, !ring
      simt.async_commit
      simt.async_buffer_copy %p[%offsets] to %tiles[%c1] by 8 : !tt.ptr<bf16>, tensor<64x256xi32, #copy>, !ring
      simt.async_commit
      // expected-remark @+1 {{a warp pipeline of 2 stages: estimated}}
      %sum = scf.for %k = %c0 to %n step %c1 iter_args(%part = %before) -> (tensor<128x256xf32, #sums>) : i32 {
        simt.async_wait 1
        simt.barrier shared
        %ahead = arith.addi %k, %c2 : i32
        %to = arith.remsi %ahead, %c3 : i32
        %from = arith.remsi %k, %c3 : i32
        simt.async_buffer_copy %p[%offsets] to %tiles[%to] by 8 : !tt.ptr<bf16>, tensor<64x256xi32, #copy>, !ring
        simt.async_commit
        %y = simt.load_shared %tiles[%from] : !ring -> tensor<64x256xbf16, #b>
        %next = simt.dot %turned, %y, %part by <32, 32, 16, transposed = true> {precision = 0 : i32} : tensor<128x64xbf16, #a> * tensor<64x256xbf16, #b> -> tensor<128x256xf32, #sums>
        scf.yield %next : tensor<128x256xf32, #sums>
      }
      simt.async_wait 0
      simt.barrier shared
      %doubled = arith.addf %turned, %turned : tensor<128x64xbf16, #a>
      scf.yield %sum, %doubled : tensor<128x256xf32, #sums>, tensor<128x64xbf16, #a>
    }
    tt.return %all#0 : tensor<128x256xf32, #sums>
  }
}

// -----

// The matmul of what the last iteration has read waits for no read of its own.
// CHECK-LABEL: @carried
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[Z:.*]] = %
// CHECK: %[[READ:.*]] = simt.stage "memory" priority 0
// CHECK: simt.load_shared
// CHECK: %[[NEXT:.*]] = simt.stage "matmul" priority 1
// CHECK-NEXT: simt.dot %{{.*}}, %[[Z]],
// CHECK: scf.yield %[[NEXT]], %[[READ]]
#sums = #simt.linear<register = [[0, 1], [0, 2], [0, 8], [0, 16], [0, 128], [64, 0]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 4]], warp = [[0, 32], [0, 64], [32, 0]], shape = [128, 256]>
#a = #simt.linear<register = [[0, 1], [0, 2], [0, 4], [0, 16], [0, 32], [64, 0]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 8]], warp = [[0, 0], [0, 0], [32, 0]], shape = [128, 64]>
#b = #simt.linear<register = [[1, 0], [2, 0], [4, 0], [16, 0], [32, 0], [0, 128]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [8, 0]], warp = [[0, 32], [0, 64], [0, 0]], shape = [64, 256]>
#copy = #simt.linear<register = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [0, 64], [0, 128], [1, 16]], warp = [[2, 32], [4, 0], [8, 0]], shape = [64, 256]>
!ring = !simt.shared<3 * 64x256xbf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64], [0, 128], [1, 16], [2, 32], [4, 0], [8, 0], [16, 0], [32, 0]]>
module attributes {simt.target = "gfx950", simt.warps = 8 : i64} {
  tt.func private @carried(%p: !tt.ptr<bf16> {tt.divisibility = 16 : i32}, %n: i32) -> tensor<128x256xf32, #sums> {
    %zero = arith.constant dense<0.0> : tensor<128x256xf32, #sums>
    %x = arith.constant dense<1.0> : tensor<128x64xbf16, #a>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c3 = arith.constant 3 : i32
    %offsets = arith.constant dense<0> : tensor<64x256xi32, #copy>
    %tiles = simt.alloc : !ring
    %first = arith.constant dense<0.0> : tensor<64x256xbf16, #b>
    simt.async_buffer_copy %p[%offsets] to %tiles[%c0] by 8 : !tt.ptr<bf16>, tensor<64x256xi32, #copy>, !ring
    simt.async_commit
    simt.async_buffer_copy %p[%offsets] to %tiles[%c1] by 8 : !tt.ptr<bf16>, tensor<64x256xi32, #copy>, !ring
    simt.async_commit
    // expected-remark @+1 {{a warp pipeline of 2 stages: estimated}}
    %sum:2 = scf.for %k = %c0 to %n step %c1 iter_args(%part = %zero, %z = %first) -> (tensor<128x256xf32, #sums>, tensor<64x256xbf16, #b>) : i32 {
      simt.async_wait 1
      simt.barrier shared
      %ahead = arith.addi %k, %c2 : i32
      %to = arith.remsi %ahead, %c3 : i32
      %from = arith.remsi %k, %c3 : i32
      simt.async_buffer_copy %p[%offsets] to %tiles[%to] by 8 : !tt.ptr<bf16>, tensor<64x256xi32, #copy>, !ring
      simt.async_commit
      %y = simt.load_shared %tiles[%from] : !ring -> tensor<64x256xbf16, #b>
      %next = simt.dot %x, %z, %part by <32, 32, 16, transposed = true> {precision = 0 : i32} : tensor<128x64xbf16, #a> * tensor<64x256xbf16, #b> -> tensor<128x256xf32, #sums>
      scf.yield %next, %y : tensor<128x256xf32, #sums>, tensor<64x256xbf16, #b>
    }
    simt.async_wait 0
    tt.return %sum#0 : tensor<128x256xf32, #sums>
  }
}

// -----

// A number that a tile of a stage gives is computed in the stage.
// CHECK-LABEL: @number
// CHECK: simt.stage "memory"
// CHECK: simt.stage "matmul"
// CHECK-NEXT: simt.dot
// CHECK: simt.reduce
// CHECK: arith.sitofp
// CHECK: simt.yield
// CHECK: simt.stage "vector"
// CHECK-NEXT: arith.mulf
#sums = #simt.linear<register = [[0, 1], [0, 2], [0, 8], [0, 16], [0, 128], [64, 0]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 4]], warp = [[0, 32], [0, 64], [32, 0]], shape = [128, 256]>
#a = #simt.linear<register = [[0, 1], [0, 2], [0, 4], [0, 16], [0, 32], [64, 0]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 8]], warp = [[0, 0], [0, 0], [32, 0]], shape = [128, 64]>
#b = #simt.linear<register = [[1, 0], [2, 0], [4, 0], [16, 0], [32, 0], [0, 128]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [8, 0]], warp = [[0, 32], [0, 64], [0, 0]], shape = [64, 256]>
#copy = #simt.linear<register = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [0, 64], [0, 128], [1, 16]], warp = [[2, 32], [4, 0], [8, 0]], shape = [64, 256]>
#row = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[0], [0], [0]], shape = [64]>
!ring = !simt.shared<3 * 64x256xbf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64], [0, 128], [1, 16], [2, 32], [4, 0], [8, 0], [16, 0], [32, 0]]>
module attributes {simt.target = "gfx950", simt.warps = 8 : i64} {
  tt.func private @number(%p: !tt.ptr<bf16> {tt.divisibility = 16 : i32}, %n: i32) -> tensor<128x256xf32, #sums> {
    %zero = arith.constant dense<0.0> : tensor<128x256xf32, #sums>
    %x = arith.constant dense<1.0> : tensor<128x64xbf16, #a>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c3 = arith.constant 3 : i32
    %offsets = arith.constant dense<0> : tensor<64x256xi32, #copy>
    %tiles = simt.alloc : !ring
    %row = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #row>
    simt.async_buffer_copy %p[%offsets] to %tiles[%c0] by 8 : !tt.ptr<bf16>, tensor<64x256xi32, #copy>, !ring
    simt.async_commit
    simt.async_buffer_copy %p[%offsets] to %tiles[%c1] by 8 : !tt.ptr<bf16>, tensor<64x256xi32, #copy>, !ring
    simt.async_commit
    // expected-remark @+1 {{a warp pipeline of 3 stages: estimated}}
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%part = %zero) -> (tensor<128x256xf32, #sums>) : i32 {
      simt.async_wait 1
      simt.barrier shared
      %ahead = arith.addi %k, %c2 : i32
      %to = arith.remsi %ahead, %c3 : i32
      %from = arith.remsi %k, %c3 : i32
      simt.async_buffer_copy %p[%offsets] to %tiles[%to] by 8 : !tt.ptr<bf16>, tensor<64x256xi32, #copy>, !ring
      simt.async_commit
      %y = simt.load_shared %tiles[%from] : !ring -> tensor<64x256xbf16, #b>
      %next = simt.dot %x, %y, %part by <32, 32, 16, transposed = true> {precision = 0 : i32} : tensor<128x64xbf16, #a> * tensor<64x256xbf16, #b> -> tensor<128x256xf32, #sums>
      %splat = tt.splat %k : i32 -> tensor<64xi32, #row>
      %moved = arith.addi %splat, %row : tensor<64xi32, #row>
      %largest = simt.reduce %moved along 0 : tensor<64xi32, #row> -> i32 {
      ^bb0(%l: i32, %r: i32):
        %m = arith.maxsi %l, %r : i32
        simt.yield %m : i32
      }
      %factor = arith.sitofp %largest : i32 to f32
      %factors = tt.splat %factor : f32 -> tensor<128x256xf32, #sums>
      %scaled = arith.mulf %next, %factors : tensor<128x256xf32, #sums>
      scf.yield %scaled : tensor<128x256xf32, #sums>
    }
    simt.async_wait 0
    tt.return %sum : tensor<128x256xf32, #sums>
  }
}

// -----

// Not where the kernel asserts: a failed assertion is told to all threads at a barrier.
// CHECK-LABEL: @asserts_in_the_loop
// CHECK-NOT: simt.stage
#sums = #simt.linear<register = [[0, 1], [0, 2], [0, 8], [0, 16], [0, 128], [64, 0]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 4]], warp = [[0, 32], [0, 64], [32, 0]], shape = [128, 256]>
#a = #simt.linear<register = [[0, 1], [0, 2], [0, 4], [0, 16], [0, 32], [64, 0]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 8]], warp = [[0, 0], [0, 0], [32, 0]], shape = [128, 64]>
#b = #simt.linear<register = [[1, 0], [2, 0], [4, 0], [16, 0], [32, 0], [0, 128]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [8, 0]], warp = [[0, 32], [0, 64], [0, 0]], shape = [64, 256]>
#copy = #simt.linear<register = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [0, 64], [0, 128], [1, 16]], warp = [[2, 32], [4, 0], [8, 0]], shape = [64, 256]>
!ring = !simt.shared<3 * 64x256xbf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64], [0, 128], [1, 16], [2, 32], [4, 0], [8, 0], [16, 0], [32, 0]]>
module attributes {simt.target = "gfx950", simt.warps = 8 : i64} {
  tt.func private @asserts_in_the_loop(%p: !tt.ptr<bf16> {tt.divisibility = 16 : i32}, %n: i32) -> tensor<128x256xf32, #sums> {
    %zero = arith.constant dense<0.0> : tensor<128x256xf32, #sums>
    %x = arith.constant dense<1.0> : tensor<128x64xbf16, #a>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c3 = arith.constant 3 : i32
    %offsets = arith.constant dense<0> : tensor<64x256xi32, #copy>
    %tiles = simt.alloc : !ring
    simt.async_buffer_copy %p[%offsets] to %tiles[%c0] by 8 : !tt.ptr<bf16>, tensor<64x256xi32, #copy>, !ring
    simt.async_commit
    simt.async_buffer_copy %p[%offsets] to %tiles[%c1] by 8 : !tt.ptr<bf16>, tensor<64x256xi32, #copy>, !ring
    simt.async_commit
    // expected-remark @+1 {{no warp pipeline: the kernel asserts, and a failed assertion is told to all threads at a barrier}}
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%part = %zero) -> (tensor<128x256xf32, #sums>) : i32 {
      simt.async_wait 1
      simt.barrier shared
      %fine = arith.cmpi sge, %k, %c0 : i32
      tt.assert %fine, "negative" : i1
      %ahead = arith.addi %k, %c2 : i32
      %to = arith.remsi %ahead, %c3 : i32
      %from = arith.remsi %k, %c3 : i32
      simt.async_buffer_copy %p[%offsets] to %tiles[%to] by 8 : !tt.ptr<bf16>, tensor<64x256xi32, #copy>, !ring
      simt.async_commit
      %y = simt.load_shared %tiles[%from] : !ring -> tensor<64x256xbf16, #b>
      %next = simt.dot %x, %y, %part by <32, 32, 16, transposed = true> {precision = 0 : i32} : tensor<128x64xbf16, #a> * tensor<64x256xbf16, #b> -> tensor<128x256xf32, #sums>
      scf.yield %next : tensor<128x256xf32, #sums>
    }
    simt.async_wait 0
    tt.return %sum : tensor<128x256xf32, #sums>
  }
}

// -----

// CHECK-LABEL: @asserts_before
// CHECK-NOT: simt.stage
#sums = #simt.linear<register = [[0, 1], [0, 2], [0, 8], [0, 16], [0, 128], [64, 0]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 4]], warp = [[0, 32], [0, 64], [32, 0]], shape = [128, 256]>
#a = #simt.linear<register = [[0, 1], [0, 2], [0, 4], [0, 16], [0, 32], [64, 0]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 8]], warp = [[0, 0], [0, 0], [32, 0]], shape = [128, 64]>
#b = #simt.linear<register = [[1, 0], [2, 0], [4, 0], [16, 0], [32, 0], [0, 128]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [8, 0]], warp = [[0, 32], [0, 64], [0, 0]], shape = [64, 256]>
#copy = #simt.linear<register = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [0, 64], [0, 128], [1, 16]], warp = [[2, 32], [4, 0], [8, 0]], shape = [64, 256]>
!ring = !simt.shared<3 * 64x256xbf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64], [0, 128], [1, 16], [2, 32], [4, 0], [8, 0], [16, 0], [32, 0]]>
module attributes {simt.target = "gfx950", simt.warps = 8 : i64} {
  tt.func private @asserts_before(%p: !tt.ptr<bf16> {tt.divisibility = 16 : i32}, %n: i32) -> tensor<128x256xf32, #sums> {
    %zero = arith.constant dense<0.0> : tensor<128x256xf32, #sums>
    %x = arith.constant dense<1.0> : tensor<128x64xbf16, #a>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c3 = arith.constant 3 : i32
    %offsets = arith.constant dense<0> : tensor<64x256xi32, #copy>
    %tiles = simt.alloc : !ring
    %fine = arith.cmpi sge, %n, %c0 : i32
    tt.assert %fine, "negative" : i1
    simt.async_buffer_copy %p[%offsets] to %tiles[%c0] by 8 : !tt.ptr<bf16>, tensor<64x256xi32, #copy>, !ring
    simt.async_commit
    simt.async_buffer_copy %p[%offsets] to %tiles[%c1] by 8 : !tt.ptr<bf16>, tensor<64x256xi32, #copy>, !ring
    simt.async_commit
    // expected-remark @+1 {{no warp pipeline: the kernel asserts, and a failed assertion is told to all threads at a barrier}}
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%part = %zero) -> (tensor<128x256xf32, #sums>) : i32 {
      simt.async_wait 1
      simt.barrier shared
      %ahead = arith.addi %k, %c2 : i32
      %to = arith.remsi %ahead, %c3 : i32
      %from = arith.remsi %k, %c3 : i32
      simt.async_buffer_copy %p[%offsets] to %tiles[%to] by 8 : !tt.ptr<bf16>, tensor<64x256xi32, #copy>, !ring
      simt.async_commit
      %y = simt.load_shared %tiles[%from] : !ring -> tensor<64x256xbf16, #b>
      %next = simt.dot %x, %y, %part by <32, 32, 16, transposed = true> {precision = 0 : i32} : tensor<128x64xbf16, #a> * tensor<64x256xbf16, #b> -> tensor<128x256xf32, #sums>
      scf.yield %next : tensor<128x256xf32, #sums>
    }
    simt.async_wait 0
    tt.return %sum : tensor<128x256xf32, #sums>
  }
}

// -----

// Nor where the loop has another one in it.
// CHECK-LABEL: @loop_inside
// CHECK-NOT: simt.stage
// CHECK: tt.return
#sums = #simt.linear<register = [[0, 1], [0, 2], [0, 8], [0, 16], [0, 128], [64, 0]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 4]], warp = [[0, 32], [0, 64], [32, 0]], shape = [128, 256]>
#a = #simt.linear<register = [[0, 1], [0, 2], [0, 4], [0, 16], [0, 32], [64, 0]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 8]], warp = [[0, 0], [0, 0], [32, 0]], shape = [128, 64]>
#b = #simt.linear<register = [[1, 0], [2, 0], [4, 0], [16, 0], [32, 0], [0, 128]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [8, 0]], warp = [[0, 32], [0, 64], [0, 0]], shape = [64, 256]>
#copy = #simt.linear<register = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [0, 64], [0, 128], [1, 16]], warp = [[2, 32], [4, 0], [8, 0]], shape = [64, 256]>
!ring = !simt.shared<3 * 64x256xbf16, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64], [0, 128], [1, 16], [2, 32], [4, 0], [8, 0], [16, 0], [32, 0]]>
module attributes {simt.target = "gfx950", simt.warps = 8 : i64} {
  tt.func private @loop_inside(%p: !tt.ptr<bf16> {tt.divisibility = 16 : i32}, %n: i32) -> tensor<128x256xf32, #sums> {
    %zero = arith.constant dense<0.0> : tensor<128x256xf32, #sums>
    %x = arith.constant dense<1.0> : tensor<128x64xbf16, #a>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c3 = arith.constant 3 : i32
    %offsets = arith.constant dense<0> : tensor<64x256xi32, #copy>
    %tiles = simt.alloc : !ring
    simt.async_buffer_copy %p[%offsets] to %tiles[%c0] by 8 : !tt.ptr<bf16>, tensor<64x256xi32, #copy>, !ring
    simt.async_commit
    simt.async_buffer_copy %p[%offsets] to %tiles[%c1] by 8 : !tt.ptr<bf16>, tensor<64x256xi32, #copy>, !ring
    simt.async_commit
    // expected-remark @+1 {{no warp pipeline: a loop stands in it}}
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%part = %zero) -> (tensor<128x256xf32, #sums>) : i32 {
      simt.async_wait 1
      simt.barrier shared
      %ahead = arith.addi %k, %c2 : i32
      %to = arith.remsi %ahead, %c3 : i32
      %from = arith.remsi %k, %c3 : i32
      simt.async_buffer_copy %p[%offsets] to %tiles[%to] by 8 : !tt.ptr<bf16>, tensor<64x256xi32, #copy>, !ring
      simt.async_commit
      %y = simt.load_shared %tiles[%from] : !ring -> tensor<64x256xbf16, #b>
      %next = simt.dot %x, %y, %part by <32, 32, 16, transposed = true> {precision = 0 : i32} : tensor<128x64xbf16, #a> * tensor<64x256xbf16, #b> -> tensor<128x256xf32, #sums>
      %more = scf.for %i = %c0 to %k step %c1 iter_args(%now = %next) -> (tensor<128x256xf32, #sums>) : i32 {
        %twice = arith.addf %now, %now : tensor<128x256xf32, #sums>
        scf.yield %twice : tensor<128x256xf32, #sums>
      }
      scf.yield %more : tensor<128x256xf32, #sums>
    }
    simt.async_wait 0
    tt.return %sum : tensor<128x256xf32, #sums>
  }
}
