// Parts of a tile: accesses to parts that have no element in common are not ordered, and copies to such parts may be in
// flight while another part is read.
// RUN: heddle-opt %s --split-input-file --heddle-place-shared-memory --heddle-insert-barriers --heddle-verify-hazards 2>&1 | FileCheck %s
#l = #simt.linear<register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], warp = [[1, 0]], shape = [2, 64]>
#t = #simt.linear<register = [], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], warp = [[0, 1]], shape = [64, 2]>
!tile = !simt.shared<1 * 4x64xi32, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0]]>
!part = !simt.shared<1 * 2x64xi32, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], of = [4, 64]>
!across = !simt.shared<1 * 64x2xi32, offset = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [0, 1], [0, 2]], of = [64, 4]>
module attributes {simt.target = "gfx950", simt.warps = 2 : i64} {
  // CHECK-NOT: warning
  // CHECK-LABEL: tt.func @flight
  // CHECK: simt.async_wait 1
  // CHECK-NEXT: simt.barrier
  // CHECK-NEXT: simt.load_shared
  // CHECK-NOT: simt.async_wait
  // CHECK: tt.return
  tt.func @flight(%p: !tt.ptr<i32>, %o: tensor<2x64xi32, #l>) -> tensor<2x64xi32, #l> {
    %m = simt.alloc : !tile
    %low = simt.subslice %m[0, 0] : !tile -> !part
    %high = simt.subslice %m[2, 0] : !tile -> !part
    simt.async_buffer_copy %p[%o] to %low by 1 : !tt.ptr<i32>, tensor<2x64xi32, #l>, !part
    simt.async_commit
    simt.async_buffer_copy %p[%o] to %high by 1 : !tt.ptr<i32>, tensor<2x64xi32, #l>, !part
    simt.async_commit
    simt.async_wait 1
    %x = simt.load_shared %low : !part -> tensor<2x64xi32, #l>
    tt.return %x : tensor<2x64xi32, #l>
  }

  // A part of the whole tile, and a view of a part, which is all of it.
  // CHECK-LABEL: tt.func @whole
  // CHECK: simt.store_shared
  // CHECK: simt.store_shared
  // CHECK: simt.barrier
  // CHECK: simt.load_shared
  // CHECK-NOT: simt.barrier
  // CHECK: simt.store_shared
  // CHECK: tt.return
  tt.func @whole(%x: tensor<2x64xi32, #l>) -> tensor<64x2xi32, #t> {
    %m = simt.alloc : !tile
    %low = simt.subslice %m[0, 0] : !tile -> !part
    %high = simt.subslice %m[2, 0] : !tile -> !part
    %turned = simt.view %low : !part -> !across
    simt.store_shared %x, %low : tensor<2x64xi32, #l>, !part
    simt.store_shared %x, %high : tensor<2x64xi32, #l>, !part
    %y = simt.load_shared %turned : !across -> tensor<64x2xi32, #t>
    simt.store_shared %x, %high : tensor<2x64xi32, #l>, !part
    tt.return %y : tensor<64x2xi32, #t>
  }
}

// -----

// A part of a view is somewhere in what it is a view of.
#l = #simt.linear<register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], warp = [[1, 0]], shape = [2, 64]>
#s = #simt.linear<register = [], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], warp = [[0, 1]], shape = [64, 2]>
!tile = !simt.shared<1 * 4x64xi32, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0]]>
!part = !simt.shared<1 * 2x64xi32, offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], of = [4, 64]>
!across = !simt.shared<1 * 64x4xi32, offset = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [0, 1], [0, 2]]>
!column = !simt.shared<1 * 64x2xi32, offset = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [0, 1], [0, 2]], of = [64, 4]>
module attributes {simt.target = "gfx950", simt.warps = 2 : i64} {
  // CHECK-LABEL: tt.func @view
  // CHECK: simt.store_shared
  // CHECK-NEXT: simt.barrier
  // CHECK-NEXT: simt.load_shared
  tt.func @view(%x: tensor<2x64xi32, #l>) -> tensor<64x2xi32, #s> {
    %m = simt.alloc : !tile
    %high = simt.subslice %m[2, 0] : !tile -> !part
    %turned = simt.view %m : !tile -> !across
    %left = simt.subslice %turned[0, 0] : !across -> !column
    simt.store_shared %x, %high : tensor<2x64xi32, #l>, !part
    %y = simt.load_shared %left : !column -> tensor<64x2xi32, #s>
    tt.return %y : tensor<64x2xi32, #s>
  }
}
