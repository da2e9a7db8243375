// Barriers between accesses to memory objects: where they are inserted, what is proven without one, what is refused.
// RUN: heddle-opt %s --split-input-file --heddle-insert-barriers --heddle-verify-hazards | FileCheck %s
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[0], [0]], shape = [64]>
!ring = !simt.shared<2 * 64xf32, offset = [[1], [2], [4], [8], [16], [32]]>
!three = !simt.shared<3 * 64xf32, offset = [[1], [2], [4], [8], [16], [32]]>
!tile = !simt.shared<1 * 64xf32, offset = [[1], [2], [4], [8], [16], [32]]>

// Two tiles that count around: an iteration reads what it has written, and the next one writes the other tile.
// CHECK-LABEL: @turns
module attributes {simt.target = "gfx942", simt.warps = 4 : i64} {
  tt.func @turns(%x: tensor<64xf32, #l>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %ring = simt.alloc at 0 : !ring
    // CHECK: scf.for
    // CHECK-NOT: simt.barrier
    // CHECK: simt.store_shared
    // CHECK-NEXT: simt.barrier
    // CHECK-NEXT: simt.load_shared
    // CHECK-NOT: simt.barrier
    // CHECK: tt.return
    scf.for %i = %c0 to %n step %c1 : i32 {
      %turn = arith.remsi %i, %c2 : i32
      simt.store_shared %x, %ring[%turn] : tensor<64xf32, #l>, !ring
      %y = simt.load_shared %ring[%turn] : !ring -> tensor<64xf32, #l>
    }
    tt.return
  }
}

// -----

// The same with numbers that are carried, and three tiles of which one is written ahead.
// CHECK-LABEL: @ahead
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[0], [0]], shape = [64]>
!three = !simt.shared<3 * 64xf32, offset = [[1], [2], [4], [8], [16], [32]]>
module attributes {simt.target = "gfx942", simt.warps = 4 : i64} {
  tt.func @ahead(%x: tensor<64xf32, #l>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c3 = arith.constant 3 : i32
    %ring = simt.alloc at 0 : !three
    // CHECK: simt.store_shared
    simt.store_shared %x, %ring[%c0] : tensor<64xf32, #l>, !three
    // CHECK: scf.for
    // CHECK: simt.store_shared
    // CHECK-NEXT: simt.barrier
    // CHECK-NEXT: simt.load_shared
    // CHECK-NOT: simt.barrier
    // CHECK: tt.return
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%at = %c0) -> i32 : i32 {
      %more = arith.addi %at, %c1 : i32
      %end = arith.cmpi eq, %more, %c3 : i32
      %next = arith.select %end, %c0, %more : i32
      simt.store_shared %x, %ring[%next] : tensor<64xf32, #l>, !three
      %y = simt.load_shared %ring[%at] : !three -> tensor<64xf32, #l>
      scf.yield %next : i32
    }
    tt.return
  }
}

// -----

// A number that does not count around is any tile: both accesses need their barrier.
// CHECK-LABEL: @unknown
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[0], [0]], shape = [64]>
!ring = !simt.shared<2 * 64xf32, offset = [[1], [2], [4], [8], [16], [32]]>
module attributes {simt.target = "gfx942", simt.warps = 4 : i64} {
  tt.func @unknown(%x: tensor<64xf32, #l>, %n: i32, %s: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %ring = simt.alloc at 0 : !ring
    // CHECK: scf.for
    // CHECK: simt.barrier
    // CHECK-NEXT: simt.store_shared
    // CHECK-NEXT: simt.barrier
    // CHECK-NEXT: simt.load_shared
    scf.for %i = %c0 to %n step %c1 : i32 {
      simt.store_shared %x, %ring[%s] : tensor<64xf32, #l>, !ring
      %y = simt.load_shared %ring[%c0] : !ring -> tensor<64xf32, #l>
    }
    tt.return
  }
}

// -----

// Two objects with the same bytes: the second is written when all have read the first.
// CHECK-LABEL: @reused
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[0], [0]], shape = [64]>
!tile = !simt.shared<1 * 64xf32, offset = [[1], [2], [4], [8], [16], [32]]>
module attributes {simt.target = "gfx942", simt.warps = 4 : i64} {
  tt.func @reused(%x: tensor<64xf32, #l>) {
    %a = simt.alloc at 0 : !tile
    simt.store_shared %x, %a : tensor<64xf32, #l>, !tile
    // CHECK: simt.barrier
    // CHECK: simt.load_shared
    %y = simt.load_shared %a : !tile -> tensor<64xf32, #l>
    %b = simt.alloc at 0 : !tile
    %c = simt.alloc at 1024 : !tile
    // CHECK: simt.alloc at 1024
    // CHECK-NEXT: simt.store_shared
    simt.store_shared %y, %c : tensor<64xf32, #l>, !tile
    // CHECK-NEXT: simt.barrier
    // CHECK-NEXT: simt.store_shared
    simt.store_shared %y, %b : tensor<64xf32, #l>, !tile
    tt.return
  }
}

// -----

// An object that a condition chooses may be either one, and both live on.
// CHECK-LABEL: @chosen
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[0], [0]], shape = [64]>
!tile = !simt.shared<1 * 64xf32, offset = [[1], [2], [4], [8], [16], [32]]>
module attributes {simt.target = "gfx942", simt.warps = 4 : i64} {
  tt.func @chosen(%x: tensor<64xf32, #l>, %c: i1) {
    %a = simt.alloc at 0 : !tile
    %b = simt.alloc at 1024 : !tile
    // CHECK: simt.store_shared
    simt.store_shared %x, %a : tensor<64xf32, #l>, !tile
    // CHECK-NEXT: simt.store_shared
    simt.store_shared %x, %b : tensor<64xf32, #l>, !tile
    %m = arith.select %c, %a, %b : !tile
    // CHECK: simt.barrier
    // CHECK-NEXT: simt.load_shared
    %y = simt.load_shared %m : !tile -> tensor<64xf32, #l>
    tt.return
  }
}

// -----

// The numbers of a loop's iterations that 64 bits with a sign do not hold, and those of a step that is no step: it comes
// back to what it has read.
#l = #simt.linear<register = [], lane = [[1], [2], [4], [8], [16], [32]], warp = [[0], [0]], shape = [64]>
!tile = !simt.shared<1 * 64xf32, offset = [[1], [2], [4], [8], [16], [32]]>
module attributes {simt.target = "gfx942", simt.warps = 4 : i64} {
  // CHECK-LABEL: @far
  tt.func @far(%x: tensor<64xf32, #l>) {
    %first = arith.constant -9223372036854775808 : i64
    %end = arith.constant 1 : i64
    %step = arith.constant 4611686018427387904 : i64
    %a = simt.alloc at 0 : !tile
    scf.for %i = %first to %end step %step : i64 {
      // CHECK: simt.barrier
      // CHECK-NEXT: simt.store_shared
      simt.store_shared %x, %a : tensor<64xf32, #l>, !tile
      // CHECK-NEXT: simt.barrier
      // CHECK-NEXT: simt.load_shared
      %y = simt.load_shared %a : !tile -> tensor<64xf32, #l>
    }
    tt.return
  }
  // CHECK-LABEL: @no_step
  tt.func @no_step(%x: tensor<64xf32, #l>) {
    %c0 = arith.constant 0 : i64
    %end = arith.constant 4 : i64
    %a = simt.alloc at 0 : !tile
    scf.for %i = %c0 to %end step %c0 : i64 {
      // CHECK: simt.barrier
      // CHECK-NEXT: simt.store_shared
      simt.store_shared %x, %a : tensor<64xf32, #l>, !tile
      // CHECK-NEXT: simt.barrier
      // CHECK-NEXT: simt.load_shared
      %y = simt.load_shared %a : !tile -> tensor<64xf32, #l>
    }
    tt.return
  }
}
