// A memory object that a pipeline stage yields lives to the end of the function: what stands after the stage may read it.
// The bodies of stages are put in their place.
// RUN: heddle-opt %s --heddle-place-shared-memory | FileCheck %s
// RUN: heddle-opt %s --heddle-place-shared-memory --heddle-inline-stages --heddle-insert-barriers --heddle-verify-hazards 2>/dev/null | FileCheck %s --check-prefix=INLINED
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[0], [0]], shape = [64]>
!ring = !simt.shared<2 * 64xf32, offset = [[1], [2], [4], [8], [16], [32]]>
!tile = !simt.shared<1 * 64xf32, offset = [[1], [2], [4], [8], [16], [32]]>
module attributes {simt.target = "gfx942", simt.warps = 4 : i64} {
  tt.func @staged(%x: tensor<64xf32, #l>, %n: i32) -> tensor<64xf32, #l> {
    // CHECK: simt.alloc at 0
    %ring = simt.alloc : !ring
    // INLINED: simt.index
    // INLINED-NEXT: simt.store_shared
    // INLINED-NOT: simt.yield
    %tile = simt.stage "first" priority 1 -> !tile {
      %one = simt.index %ring[%n] : !ring -> !tile
      simt.store_shared %x, %one : tensor<64xf32, #l>, !tile
      simt.yield %one : !tile
    }
    // CHECK: simt.alloc at 1024
    // INLINED: simt.alloc
    // INLINED-NEXT: simt.store_shared
    // INLINED-NEXT: simt.barrier
    // INLINED-NEXT: simt.load_shared
    %other = simt.alloc : !tile
    simt.store_shared %x, %other : tensor<64xf32, #l>, !tile
    %y = simt.stage "second" -> tensor<64xf32, #l> {
      %read = simt.load_shared %tile : !tile -> tensor<64xf32, #l>
      simt.yield %read : tensor<64xf32, #l>
    }
    tt.return %y : tensor<64xf32, #l>
  }
}
