// RUN: heddle-opt %s -heddle-expand-peer -canonicalize -cse | FileCheck %s
// Two values of three ranks: sixteen lanes, four words for each of four ranks, of which the last does not exist. Each word is a
// packet with the epoch's flag; `relaxed` waits for nothing first.

// CHECK-LABEL: @relaxed
// CHECK-NOT: peer.release_fence
// CHECK-NOT: ttg.barrier
// CHECK: %[[LANE:.*]] = tt.make_range {end = 16 : i32, start = 0 : i32}
// CHECK: %[[PEER:.*]] = arith.shrui %[[LANE]], %cst
// CHECK: %[[WORD:.*]] = arith.andi %[[LANE]], %cst
// CHECK: %[[PRESENT:.*]] = arith.cmpi ult, %[[PEER]], %cst
// CHECK: %[[OTHER:.*]] = arith.cmpi ne, %[[PEER]]
// CHECK: %[[PEERS:.*]] = arith.andi %[[PRESENT]], %[[OTHER]]
// CHECK: %[[ACTIVE:.*]] = arith.cmpi ult, %{{.*}}, %c16_i32
// CHECK: arith.remui %arg2, %c4294967295_i64
// CHECK: %[[FLAG:.*]] = arith.shli %{{.*}}, %c32_i64
// CHECK: arith.andi %arg5, %c4294967295_i64
// CHECK: arith.shrui %arg5, %c32_i64
// CHECK: arith.andi %arg6, %c4294967295_i64
// CHECK: arith.shrui %arg6, %c32_i64
// CHECK: scf.if %[[ACTIVE]]
// CHECK:   peer.atomic_write relaxed, sys, %{{.*}}, %{{.*}}, %[[PEERS]]
// CHECK:   peer.atomic_spin_wait acquire, sys, hi, %{{.*}}, %[[FLAG]], %[[PEERS]] within %arg3, %arg0
// CHECK: "tt.reduce"
tt.func @relaxed(%group: !tt.ptr<i64>, %slots: !tt.ptr<i64>, %epoch: i64, %deadline: i64, %tag: i64, %a: i64, %b: i64) -> i1 {
  %ok = peer.block_exchange relaxed, %slots, (%a, %b), %epoch, %deadline, %group, tag %tag {world_size = 3 : i32}
  tt.return %ok : i1
}

// CHECK-LABEL: @release
// CHECK: peer.release_fence
// CHECK-NEXT: ttg.barrier local|global_read|global_write
// CHECK: peer.atomic_write release, sys
tt.func @release(%group: !tt.ptr<i64>, %slots: !tt.ptr<i64>, %epoch: i64, %deadline: i64, %tag: i64, %a: i64) -> i1 {
  %ok = peer.block_exchange release, %slots, (%a), %epoch, %deadline, %group, tag %tag {world_size = 2 : i32}
  tt.return %ok : i1
}

// One rank sends nothing.
// CHECK-LABEL: @one
// CHECK-NOT: peer.atomic
// CHECK: tt.return %true
tt.func @one(%group: !tt.ptr<i64>, %slots: !tt.ptr<i64>, %epoch: i64, %deadline: i64, %tag: i64, %a: i64) -> i1 {
  %ok = peer.block_exchange relaxed, %slots, (%a), %epoch, %deadline, %group, tag %tag {world_size = 1 : i32}
  tt.return %ok : i1
}
