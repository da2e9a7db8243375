// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s -mlir-print-op-generic | heddle-opt | FileCheck %s
// Blocks of all ranks meet; who does not come is reported. Each operation keeps its text, also through the generic form.

// CHECK-LABEL: @barrier
tt.func @barrier(%group: !tt.ptr<i64>, %signals: !tt.ptr<i64>, %epoch: i64, %deadline: i64, %tag: i64) -> i1 {
  // CHECK: peer.block_barrier %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, tag %{{.*}} {world_size = 3 : i32}
  %ok = peer.block_barrier %signals, %epoch, %deadline, %group, tag %tag {world_size = 3 : i32}
  tt.return %ok : i1
}

// CHECK-LABEL: @report
tt.func @report(%group: !tt.ptr<i64>, %f: i1, %fs: tensor<4xi1>, %peer: i32, %peers: tensor<4xi32>, %e: i64,
                %seen: tensor<4xi64>, %deadline: i64, %tag: i64) {
  // CHECK: peer.report %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, tag %{{.*}} : i1, i32, i64, i64
  peer.report %f, %peer, %e, %e, %deadline, %group, tag %tag : i1, i32, i64, i64
  // CHECK: peer.report %{{.*}} : tensor<4xi1>, tensor<4xi32>, i64, tensor<4xi64>
  peer.report %fs, %peers, %e, %seen, %deadline, %group, tag %tag : tensor<4xi1>, tensor<4xi32>, i64, tensor<4xi64>
  tt.return
}

// Two values to the same block of every rank.
// CHECK-LABEL: @exchange
tt.func @exchange(%group: !tt.ptr<i64>, %slots: !tt.ptr<i64>, %a: i64, %b: i64, %epoch: i64, %deadline: i64, %tag: i64) -> i1 {
  // CHECK: peer.block_exchange relaxed, %arg1, (%arg2, %arg3), %arg4, %arg5, %arg0, tag %arg6 {world_size = 4 : i32}
  %ok = peer.block_exchange relaxed, %slots, (%a, %b), %epoch, %deadline, %group, tag %tag {world_size = 4 : i32}
  tt.return %ok : i1
}
