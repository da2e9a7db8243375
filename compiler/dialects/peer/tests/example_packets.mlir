// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s -mlir-print-op-generic | heddle-opt | FileCheck %s
// Data that carry their own flag. Each operation keeps its text, also through the generic form.

// CHECK-LABEL: @packets
tt.func @packets(%group: !tt.ptr<i64>, %p: !tt.ptr<i64>, %v: i32, %ps: tensor<4x!tt.ptr<i64>>, %vs: tensor<4xi32>,
                 %flag: i32, %ms: tensor<4xi1>, %deadline: i64) {
  // CHECK: peer.packet_send %{{.*}}, %{{.*}}, %{{.*}} : !tt.ptr<i64>
  peer.packet_send %p, %v, %flag : !tt.ptr<i64>
  // CHECK: peer.packet_send %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x!tt.ptr<i64>>
  peer.packet_send %ps, %vs, %flag, %ms : tensor<4x!tt.ptr<i64>>
  // CHECK: %{{.*}}, %{{.*}} = peer.packet_receive %{{.*}}, %{{.*}} within %{{.*}}, %{{.*}} : !tt.ptr<i64>
  %data, %ok = peer.packet_receive %p, %flag within %deadline, %group : !tt.ptr<i64>
  // CHECK: peer.packet_receive %{{.*}}, %{{.*}}, %{{.*}} within %{{.*}}, %{{.*}} : tensor<4x!tt.ptr<i64>>
  %datas, %oks = peer.packet_receive %ps, %flag, %ms within %deadline, %group : tensor<4x!tt.ptr<i64>>
  tt.return
}
