// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s -mlir-print-op-generic | heddle-opt | FileCheck %s
// Who a rank is, where the others' memory lies, and what time it is. Each operation keeps its text, also through the generic form.

// CHECK-LABEL: @who
tt.func @who(%group: !tt.ptr<i64>, %p: !tt.ptr<f32>, %tile: tensor<4x!tt.ptr<i64>>, %ranks: tensor<4xi32>) {
  // CHECK: peer.thread_id : i32
  %0 = peer.thread_id : i32
  // CHECK: %[[RANK:.*]] = peer.rank %{{.*}} : i32
  %rank = peer.rank %group : i32
  // CHECK: peer.world_size %{{.*}} : i32
  %1 = peer.world_size %group : i32
  // CHECK: peer.address %{{.*}}, %[[RANK]], %{{.*}} : !tt.ptr<f32>, i32
  %2 = peer.address %p, %rank, %group : !tt.ptr<f32>, i32
  // CHECK: peer.address %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x!tt.ptr<i64>>, i32
  %3 = peer.address %tile, %rank, %group : tensor<4x!tt.ptr<i64>>, i32
  // CHECK: peer.address %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x!tt.ptr<i64>>, tensor<4xi32>
  %4 = peer.address %tile, %ranks, %group : tensor<4x!tt.ptr<i64>>, tensor<4xi32>
  tt.return
}

// CHECK-LABEL: @time
tt.func @time(%group: !tt.ptr<i64>) {
  // CHECK: peer.clock : i64
  %0 = peer.clock : i64
  // CHECK: peer.deadline %{{.*}} : i64
  %1 = peer.deadline %group : i64
  tt.return
}
