// Places that a text gives its memory objects itself: two that are in use at the same time share no byte.
// RUN: heddle-opt %s --split-input-file --heddle-verify-hazards --verify-diagnostics
// RUN: heddle-opt %s --split-input-file --heddle-place-shared-memory --verify-diagnostics
#l = #simt.linear<register = [[1], [2], [256]], lane = [[4], [8], [16], [32], [64], [128]], warp = [], shape = [512]>
!row = !simt.shared<1 * 512xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256]]>
module attributes {simt.target = "gfx942", simt.warps = 1 : i64} {
  tt.func @together(%x: tensor<512xf32, #l>) {
    // expected-note @+1 {{the other memory object}}
    %a = simt.alloc at 0 : !row
    // expected-error @+1 {{has bytes 1024 to 3071 of shared memory, and another memory object that is in use at the same time has 0 to 2047: leave `at` out of one of them}}
    %b = simt.alloc at 1024 : !row
    simt.store_shared %x, %a : tensor<512xf32, #l>, !row
    simt.store_shared %x, %b : tensor<512xf32, #l>, !row
    tt.return
  }
}

// -----

// One after the other they may.
#l = #simt.linear<register = [[1], [2], [256]], lane = [[4], [8], [16], [32], [64], [128]], warp = [], shape = [512]>
!row = !simt.shared<1 * 512xf32, offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256]]>
module attributes {simt.target = "gfx942", simt.warps = 1 : i64} {
  tt.func @in_turn(%x: tensor<512xf32, #l>) {
    %a = simt.alloc at 0 : !row
    simt.store_shared %x, %a : tensor<512xf32, #l>, !row
    simt.barrier
    %b = simt.alloc at 1024 : !row
    simt.store_shared %x, %b : tensor<512xf32, #l>, !row
    tt.return
  }
}
