// Fences: a barrier before what releases the other threads' accesses, one after what acquires for them, none of their own.
// RUN: heddle-opt %s --split-input-file --heddle-insert-barriers --heddle-verify-hazards | FileCheck %s
// RUN: split-file %s %t && cd %t
// RUN: heddle compile release.mlir --target gfx942 --from simplify-layouts --to asm | FileCheck %s --check-prefix=GFX942
// RUN: sed 's/gfx942/sm_90/; s/warps = 2/warps = 4/; s/, \[32\]\], warp = \[\[64\]\]/], warp = [[32], [64]]/' release.mlir > nvidia.mlir
// RUN: heddle compile nvidia.mlir --target sm_90 --from simplify-layouts --to asm | FileCheck %s --check-prefix=SM90
// RUN: %fails1 heddle-opt release.mlir --heddle-verify-hazards 2>&1 | FileCheck %s --check-prefix=RELEASES
// RUN: %fails1 heddle-opt acquire.mlir --heddle-verify-hazards 2>&1 | FileCheck %s --check-prefix=ACQUIRES
// RELEASES: error: a fence releases global memory that a store may have accessed before in another thread: a barrier is missing between them
// ACQUIRES: error: a load accesses global memory, which a fence acquires before in another thread: a barrier is missing between them
//--- release.mlir
// The tile is written by all threads, the flag by one.
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64]], shape = [128]>
module attributes {simt.target = "gfx942", simt.warps = 2 : i64} {
  // CHECK-LABEL: @release
  tt.func public @release(%p: !tt.ptr<i32>, %flag: !tt.ptr<i32>) {
    %one = arith.constant 1 : i32
    %range = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #l>
    %base = tt.splat %p : !tt.ptr<i32> -> tensor<128x!tt.ptr<i32>, #l>
    %places = tt.addptr %base, %range : tensor<128x!tt.ptr<i32>, #l>, tensor<128xi32, #l>
    // CHECK: simt.store
    // CHECK-NEXT: simt.barrier
    // CHECK-NEXT: simt.fence release, gpu
    // CHECK-NEXT: simt.atomic_store relaxed
    // GFX942: global_store_dword
    // GFX942: s_barrier
    // GFX942: buffer_wbl2 sc1
    // GFX942: s_waitcnt vmcnt(0)
    // GFX942: store_dword
    // SM90: st.global
    // SM90: bar.sync
    // SM90: fence.{{release|acq_rel}}.gpu
    // SM90: st.relaxed.gpu
    simt.store %places, %range : tensor<128x!tt.ptr<i32>, #l>
    simt.fence release, gpu
    simt.atomic_store relaxed, gpu, %flag, %one : !tt.ptr<i32>
    tt.return
  }
}

// -----

//--- acquire.mlir
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64]], shape = [128]>
module attributes {simt.target = "gfx942", simt.warps = 2 : i64} {
  // CHECK-LABEL: @acquire
  tt.func @acquire(%p: tensor<128x!tt.ptr<i32>, #l>, %flag: !tt.ptr<i32>, %v: i32) {
    // CHECK: simt.atomic_wait relaxed
    // CHECK-NEXT: simt.fence acquire, gpu
    // CHECK-NEXT: simt.barrier
    // CHECK-NEXT: simt.load
    simt.atomic_wait relaxed, gpu, %flag, %v : !tt.ptr<i32>
    simt.fence acquire, gpu
    %x = simt.load %p : tensor<128x!tt.ptr<i32>, #l>
    tt.return
  }
}

// -----

//--- shared.mlir
// Fences order nothing between accesses of two threads: the barrier for that stands, and one is enough.
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[0]], shape = [64]>
!tile = !simt.shared<1 * 64xf32, offset = [[1], [2], [4], [8], [16], [32]]>
module attributes {simt.target = "gfx942", simt.warps = 2 : i64} {
  // CHECK-LABEL: @no_barrier
  tt.func @no_barrier(%x: tensor<64xf32, #l>) {
    %m = simt.alloc at 0 : !tile
    // CHECK: simt.store_shared
    // CHECK-NEXT: simt.fence acq_rel, cta
    // CHECK-NEXT: simt.barrier
    // CHECK-NEXT: simt.load_shared
    simt.store_shared %x, %m : tensor<64xf32, #l>, !tile
    simt.fence acq_rel, cta
    %y = simt.load_shared %m : !tile -> tensor<64xf32, #l>
    tt.return
  }
}
