// RUN: heddle-opt %s -split-input-file -verify-diagnostics --heddle-lower-conversions --heddle-lower-reductions --heddle-place-shared-memory --heddle-pipeline-warps --heddle-insert-barriers
// Rules W of docs/warp-pipeline.md, and the hazards between stages; W2 is one of the dialect (verify_order.mlir).
module attributes {simt.target = "gfx950", simt.warps = 8 : i64} {
  tt.func @w1(%n: i32) {
    scf.for %i = %n to %n step %n : i32 {
      // expected-error @+1 {{'simt.stage' op 'alone' is the only stage of a pipeline (rule W1): there are two or more stages}}
      simt.stage "alone" {
      }
    }
    tt.return
  }
}

// -----

module attributes {simt.target = "gfx950", simt.warps = 8 : i64} {
  tt.func @w3_twice(%n: i32) {
    scf.for %i = %n to %n step %n : i32 {
      simt.stage "one" {
      }
      // expected-note @+1 {{the first barrier}}
      simt.barrier
      // expected-error @+1 {{'simt.barrier' op is the second barrier between two stages (rule W3): put an empty stage between the two}}
      simt.barrier shared
      simt.stage "two" {
      }
    }
    tt.return
  }
}

// -----

module attributes {simt.target = "gfx950", simt.warps = 8 : i64} {
  tt.func @w3_ends(%n: i32) {
    scf.for %i = %n to %n step %n : i32 {
      // expected-error @+1 {{'simt.barrier' op and the barrier at the end of the loop both stand between its last stage and its first (rule W3)}}
      simt.barrier
      simt.stage "one" {
      }
      simt.stage "two" {
      }
      // expected-note @+1 {{the barrier at the end}}
      simt.barrier shared
    }
    tt.return
  }
}

// -----

#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64], [128], [256]], shape = [512]>
!tile = !simt.shared<1 * 512xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256]]>
module attributes {simt.target = "gfx950", simt.warps = 8 : i64} {
  tt.func @w3_access(%x: tensor<512xf32, #l>, %n: i32) {
    %m = simt.alloc : !tile
    scf.for %i = %n to %n step %n : i32 {
      simt.stage "one" {
      }
      // expected-error @+1 {{'simt.store_shared' op stands between two stages of a warp pipeline (rule W3): there may be waits, one barrier, and what computes values there; put it into a stage}}
      simt.store_shared %x, %m : tensor<512xf32, #l>, !tile
      simt.stage "two" {
      }
    }
    tt.return
  }
}

// -----

#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64], [128], [256]], shape = [512]>
!tile = !simt.shared<1 * 512xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256]]>
module attributes {simt.target = "gfx950", simt.warps = 8 : i64} {
  tt.func @w3_straight(%x: tensor<512xf32, #l>) {
    %m = simt.alloc : !tile
    simt.stage "one" {
    }
    // expected-error @+1 {{'simt.store_shared' op stands between two stages of a warp pipeline (rule W3)}}
    simt.store_shared %x, %m : tensor<512xf32, #l>, !tile
    simt.stage "two" {
    }
    tt.return
  }
}

// -----

// A reduction over warps takes a barrier; one within a warp does not.
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64], [128], [256]], shape = [512]>
module attributes {simt.target = "gfx950", simt.warps = 8 : i64} {
  tt.func @w4(%x: tensor<512xf32, #l>, %n: i32) {
    scf.for %i = %n to %n step %n : i32 {
      // expected-note @+1 {{the stage}}
      simt.stage "sums" {
        // expected-error @+1 {{a reduction, conversion or exchange goes through shared memory from warp to warp, which takes a barrier, in stage 'sums' (rule W4)}}
        %s = simt.reduce %x along 0 : tensor<512xf32, #l> -> f32 {
        ^bb0(%a: f32, %b: f32):
          %c = arith.addf %a, %b : f32
          simt.yield %c : f32
        }
        simt.yield
      }
      simt.stage "two" {
      }
    }
    tt.return
  }
}

// -----

module attributes {simt.target = "gfx950", simt.warps = 4 : i64} {
  tt.func @w5(%n: i32) {
    scf.for %i = %n to %n step %n : i32 {
      // expected-error @+1 {{'simt.stage' op 'one' is of a warp pipeline in a block of 4 warps (rule W5): there are 8, in two groups of 4; launch the kernel with 8 warps}}
      simt.stage "one" {
      }
      simt.stage "two" {
      }
    }
    tt.return
  }
}

// -----

module attributes {simt.target = "gfx950", simt.warps = 8 : i64} {
  tt.func @w6(%n: i32) {
    %w = simt.warp_id
    scf.for %i = %n to %w step %n : i32 {
      // expected-error @+1 {{'simt.stage' op 'one' stands in a branch or loop that not all threads take alike (rule W6)}}
      simt.stage "one" {
      }
      simt.stage "two" {
      }
    }
    tt.return
  }
}

// -----

module attributes {simt.target = "gfx950", simt.warps = 8 : i64} {
  tt.func @w6_while(%n: i32) {
    %r = scf.while (%k = %n) : (i32) -> i32 {
      %more = arith.cmpi slt, %k, %n : i32
      scf.condition(%more) %k : i32
    } do {
    ^bb0(%k: i32):
      // expected-error @+1 {{'simt.stage' op 'one' stands in a loop that is not `scf.for` (rule W6)}}
      simt.stage "one" {
      }
      simt.stage "two" {
      }
      scf.yield %k : i32
    }
    tt.return
  }
}

// -----

// One buffer, written in one stage and read in the next.
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64], [128], [256]], shape = [512]>
#r = #simt.linear<register = [], lane = [[64], [128], [256], [1], [2], [4]], warp = [[8], [16], [32]], shape = [512]>
!tile = !simt.shared<1 * 512xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256]]>
module attributes {simt.target = "gfx950", simt.warps = 8 : i64} {
  tt.func @w7(%x: tensor<512xf32, #l>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %m = simt.alloc : !tile
    scf.for %i = %c0 to %n step %c1 : i32 {
      simt.stage "writes" {
        // expected-note @+1 {{the access before}}
        simt.store_shared %x, %m : tensor<512xf32, #l>, !tile
      }
      // expected-note-re @+1 {{{{^}}an empty stage between the two would keep them apart{{$}}}}
      simt.stage "reads" {
        // expected-error-re @+1 {{{{^}}a load from shared memory in stage 'reads' reads bytes of shared memory that a store to shared memory in stage 'writes' writes at the same time in the other group of warps (rule W7): the stages are one apart, in one iteration{{$}}}}
        %y = simt.load_shared %m : !tile -> tensor<512xf32, #r>
        simt.yield
      }
    }
    tt.return
  }
}

// -----

// The same with a bubble between: then the next iteration's store is one stage after the load.
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64], [128], [256]], shape = [512]>
#r = #simt.linear<register = [], lane = [[64], [128], [256], [1], [2], [4]], warp = [[8], [16], [32]], shape = [512]>
!tile = !simt.shared<1 * 512xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256]]>
module attributes {simt.target = "gfx950", simt.warps = 8 : i64} {
  tt.func @w7_wrap(%x: tensor<512xf32, #l>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %m = simt.alloc : !tile
    scf.for %i = %c0 to %n step %c1 : i32 {
      // expected-note-re @+1 {{{{^}}an empty stage between the two would keep them apart, or a ring of 2 tiles, of which each iteration takes the next{{$}}}}
      simt.stage "writes" {
        // expected-error-re @+1 {{{{^}}a store to shared memory in stage 'writes' writes bytes of shared memory that a load from shared memory in stage 'reads' reads at the same time in the other group of warps (rule W7): the stages are one apart, over the end of an iteration{{$}}}}
        simt.store_shared %x, %m : tensor<512xf32, #l>, !tile
      }
      simt.stage "bubble" {
      }
      simt.stage "reads" {
        // expected-note @+1 {{the access before}}
        %y = simt.load_shared %m : !tile -> tensor<512xf32, #r>
        simt.yield
      }
    }
    tt.return
  }
}

// -----

// Two accesses of one stage.
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64], [128], [256]], shape = [512]>
#r = #simt.linear<register = [], lane = [[64], [128], [256], [1], [2], [4]], warp = [[8], [16], [32]], shape = [512]>
!tile = !simt.shared<1 * 512xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256]]>
module attributes {simt.target = "gfx950", simt.warps = 8 : i64} {
  tt.func @w7_same(%x: tensor<512xf32, #l>, %n: i32) {
    %m = simt.alloc : !tile
    scf.for %i = %n to %n step %n : i32 {
      // expected-note-re @+1 {{{{^}}two stages with an empty one between them would keep the two apart{{$}}}}
      simt.stage "both" {
        // expected-note @+1 {{the access before}}
        simt.store_shared %x, %m : tensor<512xf32, #l>, !tile
        // expected-error-re @+1 {{{{^}}a load from shared memory in stage 'both' reads bytes of shared memory that a store to shared memory in stage 'both' writes before, and no barrier can stand in a stage (rule W7){{$}}}}
        %y = simt.load_shared %m : !tile -> tensor<512xf32, #r>
        simt.yield
      }
      simt.stage "two" {
      }
    }
    tt.return
  }
}

// -----

// A copy that is waited for directly before the stage that reads it: the other group has not waited yet.
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64], [128], [256]], shape = [512]>
#r = #simt.linear<register = [], lane = [[64], [128], [256], [1], [2], [4]], warp = [[8], [16], [32]], shape = [512]>
!ring = !simt.shared<3 * 512xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256]]>
module attributes {simt.target = "gfx950", simt.warps = 8 : i64} {
  tt.func @w7_wait(%p: !tt.ptr<f32>, %o: tensor<512xi32, #l>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c3 = arith.constant 3 : i32
    %m = simt.alloc : !ring
    scf.for %i = %c0 to %n step %c1 : i32 {
      %read = arith.remsi %i, %c3 : i32
      %ahead = arith.addi %i, %c2 : i32
      %write = arith.remsi %ahead, %c3 : i32
      // expected-note-re @+1 {{{{^}}let this wait stand one stage earlier, or put an empty stage between it and the stage that reads{{$}}}}
      simt.async_wait 1
      simt.stage "memory" {
        // expected-error-re @+1 {{{{^}}a load from shared memory in stage 'memory' reads bytes of shared memory that an asynchronous copy in stage 'memory' writes (rule W7): it is waited for less than two barriers before the stage, and not yet by the other group of warps{{$}}}}
        %y = simt.load_shared %m[%read] : !ring -> tensor<512xf32, #r>
        // expected-note @+1 {{the access before}}
        simt.async_buffer_copy %p[%o] to %m[%write] by 1 : !tt.ptr<f32>, tensor<512xi32, #l>, !ring
        simt.async_commit
        simt.yield
      }
      simt.stage "products" {
      }
    }
    tt.return
  }
}

// -----

// The copy is two stages before the read, and the wait alone is late: neither a larger ring nor an empty stage before the
// wait mends that.
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64], [128], [256]], shape = [512]>
#r = #simt.linear<register = [], lane = [[64], [128], [256], [1], [2], [4]], warp = [[8], [16], [32]], shape = [512]>
!ring = !simt.shared<8 * 512xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256]]>
module attributes {simt.target = "gfx950", simt.warps = 8 : i64} {
  tt.func @w7_late_wait(%p: !tt.ptr<f32>, %o: tensor<512xi32, #l>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %m = simt.alloc : !ring
    scf.for %i = %c0 to %n step %c1 : i32 {
      %tile = arith.remsi %i, %c8 : i32
      simt.stage "copies" {
        // expected-note @+1 {{the access before}}
        simt.async_buffer_copy %p[%o] to %m[%tile] by 1 : !tt.ptr<f32>, tensor<512xi32, #l>, !ring
        simt.async_commit
      }
      simt.stage "bubble" {
      }
      // expected-note-re @+1 {{{{^}}let this wait stand one stage earlier, or put an empty stage between it and the stage that reads{{$}}}}
      simt.async_wait 0
      simt.stage "reads" {
        // expected-error-re @+1 {{{{^}}a load from shared memory in stage 'reads' reads bytes of shared memory that an asynchronous copy in stage 'copies' writes (rule W7): it is waited for less than two barriers before the stage, and not yet by the other group of warps{{$}}}}
        %y = simt.load_shared %m[%tile] : !ring -> tensor<512xf32, #r>
        simt.yield
      }
    }
    tt.return
  }
}

// -----

// A ring one tile too short: the copy overwrites what the other group still reads.
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64], [128], [256]], shape = [512]>
#r = #simt.linear<register = [], lane = [[64], [128], [256], [1], [2], [4]], warp = [[8], [16], [32]], shape = [512]>
!ring = !simt.shared<2 * 512xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256]]>
module attributes {simt.target = "gfx950", simt.warps = 8 : i64} {
  tt.func @w7_ring(%p: !tt.ptr<f32>, %o: tensor<512xi32, #l>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %m = simt.alloc : !ring
    scf.for %i = %c0 to %n step %c1 : i32 {
      %read = arith.remsi %i, %c2 : i32
      %ahead = arith.addi %i, %c2 : i32
      %write = arith.remsi %ahead, %c2 : i32
      // expected-note-re @+1 {{{{^}}two stages with an empty one between them would keep the two apart, or a ring of 3 tiles, of which each iteration takes the next{{$}}}}
      simt.stage "memory" {
        // expected-note @+1 {{the access before}}
        %y = simt.load_shared %m[%read] : !ring -> tensor<512xf32, #r>
        // expected-error-re @+1 {{{{^}}an asynchronous copy in stage 'memory' writes bytes of shared memory that a load from shared memory in stage 'memory' reads before, and no barrier can stand in a stage (rule W7){{$}}}}
        simt.async_buffer_copy %p[%o] to %m[%write] by 1 : !tt.ptr<f32>, tensor<512xi32, #l>, !ring
        simt.async_commit
        simt.yield
      }
      simt.async_wait 1
      simt.stage "two" {
      }
    }
    tt.return
  }
}

// -----

// A store one stage before the next iteration reads it: no ring mends that.
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64], [128], [256]], shape = [512]>
#r = #simt.linear<register = [], lane = [[64], [128], [256], [1], [2], [4]], warp = [[8], [16], [32]], shape = [512]>
!ring = !simt.shared<3 * 512xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256]]>
module attributes {simt.target = "gfx950", simt.warps = 8 : i64} {
  tt.func @w7_next(%x: tensor<512xf32, #l>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c3 = arith.constant 3 : i32
    %m = simt.alloc : !ring
    scf.for %i = %c0 to %n step %c1 : i32 {
      %read = arith.remsi %i, %c3 : i32
      %ahead = arith.addi %i, %c1 : i32
      %write = arith.remsi %ahead, %c3 : i32
      // expected-note-re @+1 {{{{^}}an empty stage between the two would keep them apart{{$}}}}
      simt.stage "load" {
        // expected-error-re @+1 {{{{^}}a load from shared memory in stage 'load' reads bytes of shared memory that a store to shared memory in stage 'store' writes at the same time in the other group of warps (rule W7): the stages are one apart, over the end of an iteration{{$}}}}
        %y = simt.load_shared %m[%read] : !ring -> tensor<512xf32, #r>
        simt.yield
      }
      simt.stage "matmul" {
      }
      simt.stage "store" {
        // expected-note @+1 {{the access before}}
        simt.store_shared %x, %m[%write] : tensor<512xf32, #l>, !ring
      }
    }
    tt.return
  }
}

// -----

// A bare barrier of the text: what is two stages apart is not ordered by it.
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64], [128], [256]], shape = [512]>
#r = #simt.linear<register = [], lane = [[64], [128], [256], [1], [2], [4]], warp = [[8], [16], [32]], shape = [512]>
!tile = !simt.shared<1 * 512xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256]]>
module attributes {simt.target = "gfx950", simt.warps = 8 : i64} {
  tt.func @w7_bare(%x: tensor<512xf32, #l>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %m = simt.alloc : !tile
    scf.for %i = %c0 to %n step %c1 : i32 {
      simt.stage "writes" {
        // expected-note @+1 {{the access before}}
        simt.store_shared %x, %m : tensor<512xf32, #l>, !tile
      }
      // expected-note-re @+1 {{{{^}}this barrier is bare, and orders no accesses: leave `bare` out{{$}}}}
      simt.barrier bare
      simt.stage "bubble" {
      }
      simt.stage "reads" {
        // expected-error-re @+1 {{{{^}}a load from shared memory in stage 'reads' reads bytes of shared memory that a store to shared memory in stage 'writes' writes at the same time in the other group of warps (rule W7): the stages are 2 apart, in one iteration{{$}}}}
        %y = simt.load_shared %m : !tile -> tensor<512xf32, #r>
        simt.yield
      }
    }
    tt.return
  }
}

// -----

// Global memory that other threads wrote in the same stage.
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64], [128], [256]], shape = [512]>
#r = #simt.linear<register = [], lane = [[64], [128], [256], [1], [2], [4]], warp = [[8], [16], [32]], shape = [512]>
module attributes {simt.target = "gfx950", simt.warps = 8 : i64} {
  tt.func @w7_global(%p: !tt.ptr<i32>, %o: tensor<512xi32, #l>, %q: tensor<512xi32, #r>, %n: i32) {
    scf.for %i = %n to %n step %n : i32 {
      simt.stage "both" {
        // expected-note @+1 {{the access before}}
        simt.buffer_store %o, %p[%o] by 1 : tensor<512xi32, #l>, !tt.ptr<i32>, tensor<512xi32, #l>
        // expected-error @+1 {{a load in stage 'both' accesses global memory that a store may have accessed before in another thread (rule W7): two barriers of all memory are missing between them; move one of the two out of the pipeline}}
        %y = simt.buffer_load %p[%q] by 1 : !tt.ptr<i32>, tensor<512xi32, #r> -> tensor<512xi32, #r>
        simt.yield
      }
      simt.stage "two" {
      }
    }
    tt.return
  }
}

// -----

// A vote of all threads is a barrier.
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64], [128], [256]], shape = [512]>
module attributes {simt.target = "gfx950", simt.warps = 8 : i64} {
  tt.func @w3_vote(%x: tensor<512xi1, #l>, %n: i32) {
    scf.for %i = %n to %n step %n : i32 {
      simt.stage "one" {
      }
      // expected-error @+1 {{'simt.reduce' op stands between two stages of a warp pipeline (rule W3)}}
      %any = simt.reduce %x along 0 : tensor<512xi1, #l> -> i1 {
      ^bb0(%a: i1, %b: i1):
        %c = arith.ori %a, %b : i1
        simt.yield %c : i1
      }
      simt.stage "two" {
      }
    }
    tt.return
  }
}
