// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// A ring of two tiles in shared memory: copied to while threads go on, waited for, met over, read.
#rows = #simt.linear<register = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], shape = [8, 8]>
#transposed = #simt.linear<register = [[1, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [], shape = [8, 8]>

// CHECK-LABEL: tt.func @copies
tt.func @copies(%p: tensor<8x8x!tt.ptr<f16>, #rows>, %m: tensor<8x8xi1, #rows>, %t: tensor<8x8xf16, #rows>, %s: i32) {
  // CHECK: %[[RING:.*]] = simt.alloc : !simt.shared<2 * 8x8xf16, offset = {{\[\[}}0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]>
  %ring = simt.alloc : !simt.shared<2 * 8x8xf16, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]>
  // CHECK: simt.async_copy %{{.*}} to %[[RING]][%{{.*}}] if %{{.*}} : tensor<8x8xi1, {{.*}}> by 2 : tensor<8x8x!tt.ptr<f16>
  simt.async_copy %p to %ring[%s] if %m : tensor<8x8xi1, #rows> by 2 : tensor<8x8x!tt.ptr<f16>, #rows>, !simt.shared<2 * 8x8xf16, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]>
  // CHECK: simt.async_copy %{{.*}} to %[[RING]][%{{.*}}] by 2 :
  simt.async_copy %p to %ring[%s] by 2 : tensor<8x8x!tt.ptr<f16>, #rows>, !simt.shared<2 * 8x8xf16, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]>
  // CHECK-NEXT: simt.async_commit
  simt.async_commit
  // CHECK-NEXT: simt.async_wait 1
  simt.async_wait 1
  // CHECK-NEXT: simt.async_wait 1 instructions 4
  simt.async_wait 1 instructions 4
  // CHECK-NEXT: simt.store_shared
  simt.store_shared %t, %ring[%s] : tensor<8x8xf16, #rows>, !simt.shared<2 * 8x8xf16, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]>
  // CHECK-NEXT: simt.barrier
  simt.barrier
  // CHECK-NEXT: simt.load_shared
  %0 = simt.load_shared %ring[%s] : !simt.shared<2 * 8x8xf16, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]> -> tensor<8x8xf16, #transposed>
  tt.return
}

// CHECK-LABEL: tt.func @direct
tt.func @direct(%p: tensor<8x8x!tt.ptr<f16>, #rows>, %b: !tt.ptr<f16>, %o: tensor<8x8xi32, #rows>, %m: tensor<8x8xi1, #rows>) {
  %tile = simt.alloc : !simt.shared<1 * 8x8xf16, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]>
  // CHECK: simt.async_copy %{{.*}} to %{{.*}} if %{{.*}} : tensor<8x8xi1, {{.*}}> keeps by 2 :
  simt.async_copy %p to %tile if %m : tensor<8x8xi1, #rows> keeps by 2 : tensor<8x8x!tt.ptr<f16>, #rows>, !simt.shared<1 * 8x8xf16, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]>
  // CHECK: simt.async_buffer_copy %{{.*}}[%{{.*}}] to %{{.*}} if %{{.*}} : tensor<8x8xi1, {{.*}}> by 2 : !tt.ptr<f16>
  simt.async_buffer_copy %b[%o] to %tile if %m : tensor<8x8xi1, #rows> by 2 : !tt.ptr<f16>, tensor<8x8xi32, #rows>, !simt.shared<1 * 8x8xf16, offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]>
  tt.return
}
