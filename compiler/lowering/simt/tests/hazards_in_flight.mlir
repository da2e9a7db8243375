// What is in flight takes a wait: no barrier is inserted for it.
// RUN: heddle-opt %s --split-input-file --heddle-verify-hazards --verify-diagnostics
#l = #simt.linear<register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [[0], [0]], shape = [128]>
!ring = !simt.shared<2 * 128xf32, offset = [[1], [2], [4], [8], [16], [32], [64]]>

// Copies of the loop's next tile, one iteration ahead, as pipeline-loops makes them.
module attributes {simt.target = "sm_90", simt.warps = 4 : i64} {
  tt.func @ordered(%p: tensor<128x!tt.ptr<f32>, #l>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %ring = simt.alloc at 0 : !ring
    simt.async_copy %p to %ring[%c0] by 4 : tensor<128x!tt.ptr<f32>, #l>, !ring
    simt.async_commit
    scf.for %i = %c0 to %n step %c1 : i32 {
      simt.async_wait 0
      simt.barrier
      %at = arith.remsi %i, %c2 : i32
      %more = arith.addi %i, %c1 : i32
      %next = arith.remsi %more, %c2 : i32
      simt.async_copy %p to %ring[%next] by 4 : tensor<128x!tt.ptr<f32>, #l>, !ring
      simt.async_commit
      %y = simt.load_shared %ring[%at] : !ring -> tensor<128xf32, #l>
    }
    tt.return
  }
}

// -----

#l = #simt.linear<register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [[0], [0]], shape = [128]>
!ring = !simt.shared<2 * 128xf32, offset = [[1], [2], [4], [8], [16], [32], [64]]>
// One group may still be in flight where the copy of this iteration is read.
module attributes {simt.target = "sm_90", simt.warps = 4 : i64} {
  tt.func @early(%p: tensor<128x!tt.ptr<f32>, #l>) {
    %c0 = arith.constant 0 : i32
    %ring = simt.alloc at 0 : !ring
    // expected-note @+1 {{the access before}}
    simt.async_copy %p to %ring[%c0] by 4 : tensor<128x!tt.ptr<f32>, #l>, !ring
    simt.async_commit
    // expected-note @+1 {{this wait lets 1 group of copies be in flight, and the copy may be in one of them}}
    simt.async_wait 1
    simt.barrier
    // expected-error @+1 {{reads bytes of shared memory that an asynchronous copy writes before: `async_wait` and a barrier are missing between them}}
    %y = simt.load_shared %ring[%c0] : !ring -> tensor<128xf32, #l>
    tt.return
  }
}

// -----

#l = #simt.linear<register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [[0], [0]], shape = [128]>
!ring = !simt.shared<2 * 128xf32, offset = [[1], [2], [4], [8], [16], [32], [64]]>
// A copy that no group has taken in is in flight whatever is waited for.
module attributes {simt.target = "sm_90", simt.warps = 4 : i64} {
  tt.func @uncommitted(%p: tensor<128x!tt.ptr<f32>, #l>) {
    %c0 = arith.constant 0 : i32
    %ring = simt.alloc at 0 : !ring
    // expected-note @+2 {{the access before}}
    // expected-note @+1 {{the copy is in no group when it is waited for: commit one after it}}
    simt.async_copy %p to %ring[%c0] by 4 : tensor<128x!tt.ptr<f32>, #l>, !ring
    simt.async_wait 0
    simt.barrier
    // expected-error @+1 {{`async_wait` and a barrier are missing}}
    %y = simt.load_shared %ring[%c0] : !ring -> tensor<128xf32, #l>
    tt.return
  }
}

// -----

#l = #simt.linear<register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [[0], [0]], shape = [128]>
!ring = !simt.shared<2 * 128xf32, offset = [[1], [2], [4], [8], [16], [32], [64]]>
// The wait is the thread's own; what others have copied takes the barrier too.
module attributes {simt.target = "sm_90", simt.warps = 4 : i64} {
  tt.func @alone(%p: tensor<128x!tt.ptr<f32>, #l>) {
    %c0 = arith.constant 0 : i32
    %ring = simt.alloc at 0 : !ring
    // expected-note @+1 {{the access before}}
    simt.async_copy %p to %ring[%c0] by 4 : tensor<128x!tt.ptr<f32>, #l>, !ring
    simt.async_commit
    simt.async_wait 0
    // expected-error @+1 {{a barrier is missing between them}}
    %y = simt.load_shared %ring[%c0] : !ring -> tensor<128xf32, #l>
    tt.return
  }
}

// -----

#l = #simt.linear<register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [[0], [0]], shape = [128]>
!ring = !simt.shared<2 * 128xf32, offset = [[1], [2], [4], [8], [16], [32], [64]]>
// A copy into the tile that the iteration reads.
module attributes {simt.target = "sm_90", simt.warps = 4 : i64} {
  tt.func @same(%p: tensor<128x!tt.ptr<f32>, #l>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %ring = simt.alloc at 0 : !ring
    scf.for %i = %c0 to %n step %c1 : i32 {
      simt.async_wait 0
      simt.barrier
      %at = arith.remsi %i, %c2 : i32
      %more = arith.addi %i, %c2 : i32
      %next = arith.remsi %more, %c2 : i32
      // expected-note @+1 {{the access before}}
      simt.async_copy %p to %ring[%next] by 4 : tensor<128x!tt.ptr<f32>, #l>, !ring
      simt.async_commit
      // expected-error @+1 {{`async_wait` and a barrier are missing}}
      %y = simt.load_shared %ring[%at] : !ring -> tensor<128xf32, #l>
    }
    tt.return
  }
}

// -----

#l = #simt.linear<register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [[0], [0]], shape = [128]>
!ring = !simt.shared<2 * 128xf32, offset = [[1], [2], [4], [8], [16], [32], [64]]>
// A loop of constant bounds has waited when it is over.
module attributes {simt.target = "sm_90", simt.warps = 4 : i64} {
  tt.func @after_iterations(%p: tensor<128x!tt.ptr<f32>, #l>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %ring = simt.alloc at 0 : !ring
    simt.async_copy %p to %ring[%c0] by 4 : tensor<128x!tt.ptr<f32>, #l>, !ring
    simt.async_commit
    scf.for %i = %c0 to %c1 step %c1 : i32 {
      simt.async_wait 0
      simt.barrier
    }
    %y = simt.load_shared %ring[%c0] : !ring -> tensor<128xf32, #l>
    tt.return
  }
}

// -----

#l = #simt.linear<register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [[0], [0]], shape = [128]>
!ring = !simt.shared<2 * 128xf32, offset = [[1], [2], [4], [8], [16], [32], [64]]>
// One that may have no iteration has not.
module attributes {simt.target = "sm_90", simt.warps = 4 : i64} {
  tt.func @after_none(%p: tensor<128x!tt.ptr<f32>, #l>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %ring = simt.alloc at 0 : !ring
    // expected-note @+1 {{the access before}}
    simt.async_copy %p to %ring[%c0] by 4 : tensor<128x!tt.ptr<f32>, #l>, !ring
    simt.async_commit
    scf.for %i = %c0 to %n step %c1 : i32 {
      simt.async_wait 0
      simt.barrier
    }
    // expected-error @+1 {{`async_wait` and a barrier are missing between them}}
    %y = simt.load_shared %ring[%c0] : !ring -> tensor<128xf32, #l>
    tt.return
  }
}
