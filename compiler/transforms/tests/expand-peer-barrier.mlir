// RUN: heddle-opt %s -heddle-expand-peer -canonicalize -cse | FileCheck %s
// A barrier of three ranks: tiles of four lanes, of which the third is masked off, as is the rank itself. Every thread's
// stores leave before the first barrier of the block; after the second one all threads know whether a rank was missing.

// CHECK-LABEL: @three
// CHECK: peer.release_fence
// CHECK-NEXT: ttg.barrier local|global_read|global_write
// CHECK: %[[RANK:.*]] = arith.trunci
// CHECK: %[[ROW:.*]] = tt.addptr %arg1
// CHECK: %[[LANE:.*]] = tt.make_range {end = 4 : i32, start = 0 : i32}
// CHECK: %[[SLOTS:.*]] = tt.addptr %{{.*}}, %[[LANE]]
// CHECK: %[[OWN:.*]] = tt.addptr %[[ROW]], %[[RANK]]
// CHECK: %[[PRESENT:.*]] = arith.cmpi ult, %[[LANE]], %cst
// CHECK: %[[OTHER:.*]] = arith.cmpi ne, %[[LANE]]
// CHECK: %[[PEERS:.*]] = arith.andi %[[PRESENT]], %[[OTHER]]
// CHECK: %[[THREAD:.*]] = peer.thread_id
// CHECK: %[[ACTIVE:.*]] = arith.cmpi ult, %[[THREAD]], %c4_i32
// CHECK: %[[SEEN:.*]] = scf.if %[[ACTIVE]]
// CHECK:   peer.atomic_write release, sys, %{{.*}}, %{{.*}}, %[[PEERS]]
// CHECK:   peer.atomic_spin_wait acquire, sys, ge, %[[SLOTS]], %arg2, %[[PEERS]] within %arg3, %arg0
// CHECK: %[[MISSING:.*]] = arith.cmpi ult, %[[SEEN]]
// CHECK: %[[FAILED:.*]] = "tt.reduce"(%[[MISSING]])
// CHECK: %[[REPORTS:.*]] = arith.andi %[[FAILED]], %[[ACTIVE]]
// CHECK: scf.if %[[REPORTS]]
// CHECK:   tt.atomic_cas acq_rel, sys
// CHECK: %[[OK:.*]] = arith.xori %[[FAILED]], %true
// CHECK: tt.return %[[OK]]
tt.func @three(%group: !tt.ptr<i64>, %signals: !tt.ptr<i64>, %epoch: i64, %deadline: i64, %tag: i64) -> i1 {
  %ok = peer.block_barrier %signals, %epoch, %deadline, %group, tag %tag {world_size = 3 : i32}
  tt.return %ok : i1
}

// One rank needs no barrier.
// CHECK-LABEL: @one
// CHECK: ttg.barrier
// CHECK-NOT: peer.atomic
// CHECK: tt.return %true
tt.func @one(%group: !tt.ptr<i64>, %signals: !tt.ptr<i64>, %epoch: i64, %deadline: i64, %tag: i64) -> i1 {
  %ok = peer.block_barrier %signals, %epoch, %deadline, %group, tag %tag {world_size = 1 : i32}
  tt.return %ok : i1
}
