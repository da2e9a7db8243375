// RUN: heddle-opt %s -heddle-expand-peer | FileCheck %s
// RUN: heddle-opt %s -heddle-expand-peer | FileCheck %s --check-prefix=LEFT
// Fields of the group, addresses in bytes, packets, reports and deadlines.
// LEFT-NOT: peer.{{rank|world_size|address|deadline|packet|report|block_barrier}}

// CHECK-LABEL: @who
tt.func @who(%group: !tt.ptr<i64>) -> (i32, i32) {
  // CHECK: %[[F0:.*]] = tt.addptr %arg0, %c0_i32
  // CHECK: %[[R:.*]] = tt.load %[[F0]]
  // CHECK: %[[RANK:.*]] = arith.trunci %[[R]] : i64 to i32
  %rank = peer.rank %group : i32
  // CHECK: %[[F1:.*]] = tt.addptr %arg0, %c1_i32
  // CHECK: %[[S:.*]] = tt.load %[[F1]]
  // CHECK: %[[SIZE:.*]] = arith.trunci %[[S]] : i64 to i32
  %size = peer.world_size %group : i32
  // CHECK: tt.return %[[RANK]], %[[SIZE]]
  tt.return %rank, %size : i32, i32
}

// The distance of two arenas is added to the address as a number: bytes, whatever the pointee is.
// CHECK-LABEL: @address
tt.func @address(%p: !tt.ptr<f64>, %rank: i32, %group: !tt.ptr<i64>) -> !tt.ptr<f64> {
  // CHECK: %[[MASKED:.*]] = arith.andi %arg1, %c7_i32
  // CHECK: %[[ENTRY:.*]] = arith.addi %[[MASKED]], %c2_i32
  // CHECK: %[[PLACE:.*]] = tt.addptr %arg2, %[[ENTRY]]
  // CHECK: %[[THEIRS:.*]] = tt.load %[[PLACE]]
  // CHECK: %[[OWN:.*]] = tt.load
  // CHECK: %[[OWN:.*]] = tt.load
  // CHECK: %[[DISTANCE:.*]] = arith.subi %[[THEIRS]], %[[OWN]] : i64
  // CHECK: %[[NUMBER:.*]] = tt.ptr_to_int %arg0 : !tt.ptr<f64> -> i64
  // CHECK: %[[SUM:.*]] = arith.addi %[[NUMBER]], %[[DISTANCE]] : i64
  // CHECK: tt.int_to_ptr %[[SUM]] : i64 -> !tt.ptr<f64>
  %0 = peer.address %p, %rank, %group : !tt.ptr<f64>, i32
  tt.return %0 : !tt.ptr<f64>
}

// CHECK-LABEL: @addresses
tt.func @addresses(%p: tensor<4x!tt.ptr<i8>>, %ranks: tensor<4xi32>, %group: !tt.ptr<i64>) -> tensor<4x!tt.ptr<i8>> {
  // CHECK: %[[THEIRS:.*]] = tt.load %{{.*}} : tensor<4x!tt.ptr<i64>>
  // CHECK: arith.subi %[[THEIRS]], %{{.*}} : tensor<4xi64>
  // CHECK: tt.int_to_ptr %{{.*}} : tensor<4xi64> -> tensor<4x!tt.ptr<i8>>
  %0 = peer.address %p, %ranks, %group : tensor<4x!tt.ptr<i8>>, tensor<4xi32>
  tt.return %0 : tensor<4x!tt.ptr<i8>>
}

// CHECK-LABEL: @deadline
tt.func @deadline(%group: !tt.ptr<i64>) -> i64 {
  // CHECK: tt.addptr %arg0, %c11_i32
  // CHECK: %[[LIMIT:.*]] = arith.minui %{{.*}}, %c4611686018427387904_i64
  // CHECK: %[[NOW:.*]] = peer.clock : i64
  // CHECK: arith.addi %[[NOW]], %[[LIMIT]]
  %0 = peer.deadline %group : i64
  tt.return %0 : i64
}

// CHECK-LABEL: @send
tt.func @send(%p: tensor<4x!tt.ptr<i64>>, %data: tensor<4xi32>, %flag: i32, %mask: tensor<4xi1>) {
  // CHECK: %[[LOW:.*]] = arith.extui %arg1 : tensor<4xi32> to tensor<4xi64>
  // CHECK: %[[WIDE:.*]] = arith.extui %arg2 : i32 to i64
  // CHECK: %[[HIGH:.*]] = arith.shli %[[WIDE]], %c32_i64
  // CHECK: %[[HIGHS:.*]] = tt.splat %[[HIGH]]
  // CHECK: %[[WORD:.*]] = arith.ori %[[LOW]], %[[HIGHS]]
  // CHECK: peer.atomic_write relaxed, sys, %arg0, %[[WORD]], %arg3
  peer.packet_send %p, %data, %flag, %mask : tensor<4x!tt.ptr<i64>>
  tt.return
}

// CHECK-LABEL: @receive
tt.func @receive(%p: !tt.ptr<i64>, %flag: i32, %mask: i1, %d: i64, %group: !tt.ptr<i64>) -> (i32, i1) {
  // CHECK: %[[HIGH:.*]] = arith.shli
  // CHECK: %[[WORD:.*]] = peer.atomic_spin_wait relaxed, sys, hi, %arg0, %[[HIGH]], %arg2 within %arg3, %arg4
  // CHECK: %[[DATA:.*]] = arith.trunci %[[WORD]] : i64 to i32
  // CHECK: %[[SEEN:.*]] = arith.shrui %[[WORD]]
  // CHECK: %[[CAME:.*]] = arith.cmpi eq, %[[SEEN]]
  // Without a packet to wait for all is well.
  // CHECK: %[[NOBODY:.*]] = arith.xori %arg2, %true
  // CHECK: %[[OK:.*]] = arith.ori %[[CAME]], %[[NOBODY]]
  // CHECK: tt.return %[[DATA]], %[[OK]]
  %data, %ok = peer.packet_receive %p, %flag, %mask within %d, %group : !tt.ptr<i64>
  tt.return %data, %ok : i32, i1
}

// The claim is a compare-and-swap, never a read-modify-write; the last store releases the others.
// CHECK-LABEL: @report
tt.func @report(%failed: tensor<2x2xi1>, %peer: i32, %e: i64, %d: i64, %group: !tt.ptr<i64>, %tag: i64) {
  // CHECK: %[[FLAT:.*]] = tt.reshape %arg0 allow_reorder : tensor<2x2xi1> -> tensor<4xi1>
  // CHECK: %[[ANY:.*]] = "tt.reduce"(%[[FLAT]])
  // CHECK: scf.if %[[ANY]]
  // CHECK-NOT: atomic_rmw
  // CHECK: %[[OLD:.*]] = tt.atomic_cas acq_rel, sys
  // CHECK: %[[FREE:.*]] = arith.cmpi eq, %[[OLD]]
  // CHECK: %[[MINE:.*]] = arith.andi %arg0, %[[FREE]]
  // CHECK-COUNT-7: tt.store %{{.*}}, %{{.*}}, %[[MINE]]
  // CHECK: peer.atomic_write release, sys, %{{.*}}, %{{.*}}, %[[MINE]]
  peer.report %failed, %peer, %e, %e, %d, %group, tag %tag : tensor<2x2xi1>, i32, i64, i64
  tt.return
}
