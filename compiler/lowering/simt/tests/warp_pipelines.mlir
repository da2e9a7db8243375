// Stages of a warp pipeline: what is put between and around them, and which barriers order accesses.
// RUN: heddle-opt %s --split-input-file --heddle-place-shared-memory --heddle-pipeline-warps --heddle-insert-barriers --heddle-verify-hazards | FileCheck %s
// RUN: heddle-opt %s --split-input-file --heddle-place-shared-memory --heddle-pipeline-warps=warp-pipelines=off | FileCheck %s --check-prefix=OFF
// OFF: tt.func @two
// OFF-NOT: simt.stage
// OFF-NOT: simt.shift_warps
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64], [128], [256]], shape = [512]>
#r = #simt.linear<register = [], lane = [[64], [128], [256], [1], [2], [4]], warp = [[8], [16], [32]], shape = [512]>
!ring = !simt.shared<4 * 512xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256]]>
module attributes {simt.target = "gfx950", simt.warps = 8 : i64} {
  // A tile is written two iterations after it was read: the barrier after the reads need not wait for them.
  // CHECK-LABEL: tt.func @two
  // CHECK: simt.barrier shared
  // CHECK-NEXT: simt.shift_warps
  // CHECK-NEXT: simt.set_priority 1
  // CHECK-NEXT: scf.for
  // CHECK: simt.stage "memory" priority 1
  // CHECK: simt.set_priority 0
  // CHECK-NEXT: simt.schedule_barrier 0
  // CHECK-NEXT: simt.barrier bare
  // CHECK-NEXT: simt.schedule_barrier 0
  // CHECK-NEXT: simt.stage "sums"
  // CHECK: simt.set_priority 1
  // CHECK-NEXT: simt.schedule_barrier 0
  // CHECK-NEXT: simt.barrier shared
  // CHECK-NEXT: simt.schedule_barrier 0
  // CHECK-NEXT: scf.yield
  // CHECK: simt.set_priority 0
  // CHECK-NEXT: simt.align_warps
  tt.func @two(%x: tensor<512xf32, #l>, %n: i32) -> tensor<512xf32, #r> {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c4 = arith.constant 4 : i32
    %zero = arith.constant dense<0.0> : tensor<512xf32, #r>
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
      %t = simt.stage "sums" -> tensor<512xf32, #r> {
        %t = arith.addf %s, %y : tensor<512xf32, #r>
        simt.yield %t : tensor<512xf32, #r>
      }
      scf.yield %t : tensor<512xf32, #r>
    }
    tt.return %sum : tensor<512xf32, #r>
  }

  // Without priorities nothing sets them. A wait at the top of the loop: the barrier between the last stage and the first
  // stands after it, and once more after the loop. The text's own barrier is the one of its place.
  // CHECK-LABEL: tt.func @top
  // CHECK-NOT: simt.set_priority
  // CHECK: simt.shift_warps
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: simt.async_wait 1
  // CHECK-NEXT: simt.schedule_barrier 0
  // CHECK-NEXT: simt.barrier {{bare|shared}}
  // CHECK-NEXT: simt.schedule_barrier 0
  // CHECK-NEXT: simt.stage "one"
  // CHECK: simt.barrier bare
  // CHECK-NEXT: simt.schedule_barrier 0
  // CHECK-NEXT: simt.stage "two"
  // CHECK-NEXT: }
  // CHECK-NEXT: }
  // CHECK-NEXT: simt.barrier shared
  // CHECK-NEXT: simt.align_warps
  tt.func @top(%n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    scf.for %i = %c0 to %n step %c1 : i32 {
      simt.async_wait 1
      simt.stage "one" {
      }
      simt.barrier
      simt.stage "two" {
      }
    }
    tt.return
  }

  // Straight code: stage by stage, and no barrier after the last.
  // CHECK-LABEL: tt.func @straight
  // CHECK: simt.shift_warps
  // CHECK-NEXT: simt.stage "one"
  // CHECK: simt.barrier shared
  // CHECK: simt.stage "bubble"
  // CHECK: simt.barrier bare
  // CHECK: simt.stage "three"
  // CHECK-NOT: simt.barrier
  // CHECK: simt.align_warps
  tt.func @straight(%x: tensor<512xf32, #l>) -> tensor<512xf32, #r> {
    %c0 = arith.constant 0 : i32
    %ring = simt.alloc : !ring
    simt.stage "one" {
      simt.store_shared %x, %ring[%c0] : tensor<512xf32, #l>, !ring
    }
    simt.stage "bubble" {
    }
    %y = simt.stage "three" -> tensor<512xf32, #r> {
      %y = simt.load_shared %ring[%c0] : !ring -> tensor<512xf32, #r>
      simt.yield %y : tensor<512xf32, #r>
    }
    tt.return %y : tensor<512xf32, #r>
  }

  // A loop of one iteration: its first stage is not beside its last.
  // CHECK-LABEL: tt.func @once
  // CHECK: simt.shift_warps
  // CHECK-NEXT: scf.for
  // CHECK: simt.align_warps
  tt.func @once(%x: tensor<512xf32, #l>) -> tensor<512xf32, #r> {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : tensor<512xf32, #r>
    %ring = simt.alloc : !ring
    %sum = scf.for %i = %c0 to %c1 step %c1 iter_args(%s = %zero) -> (tensor<512xf32, #r>) : i32 {
      simt.stage "write" {
        simt.store_shared %x, %ring[%c0] : tensor<512xf32, #l>, !ring
      }
      simt.stage "bubble" {
      }
      %y = simt.stage "read" -> tensor<512xf32, #r> {
        %y = simt.load_shared %ring[%c0] : !ring -> tensor<512xf32, #r>
        simt.yield %y : tensor<512xf32, #r>
      }
      scf.yield %y : tensor<512xf32, #r>
    }
    tt.return %sum : tensor<512xf32, #r>
  }

  // Two loops, each with its pipeline; an outer loop around the second.
  // CHECK-LABEL: tt.func @loops
  // CHECK-COUNT-2: simt.shift_warps
  tt.func @loops(%n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    scf.for %i = %c0 to %n step %c1 : i32 {
      simt.stage "a" {
      }
      simt.stage "b" {
      }
    }
    scf.for %k = %c0 to %n step %c1 : i32 {
      scf.for %i = %c0 to %n step %c1 : i32 {
        simt.stage "a" {
        }
        simt.stage "b" {
        }
      }
    }
    tt.return
  }
}

// -----

// Memory objects of a pipeline share no bytes, though none is used in two stages: other warps are in another stage.
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64], [128], [256]], shape = [512]>
!tile = !simt.shared<1 * 512xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256]]>
module attributes {simt.target = "gfx950", simt.warps = 8 : i64} {
  // CHECK-LABEL: tt.func @apart
  // CHECK: simt.alloc at 0
  // CHECK: simt.alloc at 2048
  tt.func @apart(%x: tensor<512xf32, #l>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    scf.for %i = %c0 to %n step %c1 : i32 {
      simt.stage "one" {
        %m = simt.alloc : !tile
        simt.store_shared %x, %m : tensor<512xf32, #l>, !tile
      }
      simt.stage "two" {
        %m = simt.alloc : !tile
        simt.store_shared %x, %m : tensor<512xf32, #l>, !tile
      }
    }
    tt.return
  }
}

// -----

// A kernel that asserts has no groups apart.
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64], [128], [256]], shape = [512]>
module attributes {simt.target = "gfx950", simt.warps = 8 : i64} {
  // CHECK-LABEL: tt.func @asserts
  // CHECK-NOT: simt.shift_warps
  // CHECK-NOT: simt.stage
  tt.func @asserts(%x: tensor<512xi1, #l>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    scf.for %i = %c0 to %n step %c1 : i32 {
      simt.stage "one" {
        tt.assert %x, "all" : tensor<512xi1, #l>
      }
      simt.stage "two" {
      }
    }
    tt.return
  }
}

// -----

// Stores of an iteration and of the next are ordered by barriers of all memory; so is what comes before the pipeline.
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64], [128], [256]], shape = [512]>
module attributes {simt.target = "gfx950", simt.warps = 8 : i64} {
  // CHECK-LABEL: tt.func @global
  // CHECK: simt.buffer_store
  // CHECK: simt.barrier{{$}}
  // CHECK-NEXT: simt.shift_warps
  // CHECK: simt.stage "one"
  // CHECK-DAG: simt.barrier{{$}}
  // CHECK-DAG: simt.barrier bare
  // CHECK: simt.align_warps
  tt.func @global(%p: !tt.ptr<i32>, %o: tensor<512xi32, #l>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    simt.buffer_store %o, %p[%o] by 1 : tensor<512xi32, #l>, !tt.ptr<i32>, tensor<512xi32, #l>
    scf.for %i = %c0 to %n step %c1 : i32 {
      simt.stage "one" {
        %k = tt.splat %i : i32 -> tensor<512xi32, #l>
        %at = arith.addi %o, %k : tensor<512xi32, #l>
        simt.buffer_store %o, %p[%at] by 1 : tensor<512xi32, #l>, !tt.ptr<i32>, tensor<512xi32, #l>
      }
      simt.stage "two" {
      }
    }
    tt.return
  }
}
