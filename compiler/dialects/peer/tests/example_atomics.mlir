// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s -mlir-print-op-generic | heddle-opt | FileCheck %s
// Stores and waits between devices: scalars and tiles, with and without masks. Each operation keeps its text, also through the generic form.

// CHECK-LABEL: @atomics
tt.func @atomics(%group: !tt.ptr<i64>, %p: !tt.ptr<i32>, %v: i32, %m: i1, %ps: tensor<4x!tt.ptr<i64>>,
                 %w: i64, %vs: tensor<4xi64>, %ms: tensor<4xi1>, %deadline: i64) {
  // CHECK: peer.atomic_write relaxed, sys, %{{.*}}, %{{.*}} : !tt.ptr<i32>, i32
  peer.atomic_write relaxed, sys, %p, %v : !tt.ptr<i32>, i32
  // CHECK: peer.atomic_write release, gpu, %{{.*}}, %{{.*}}, %{{.*}} : !tt.ptr<i32>, i32
  peer.atomic_write release, gpu, %p, %v, %m : !tt.ptr<i32>, i32
  // CHECK: peer.atomic_write release, cta, %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x!tt.ptr<i64>>, tensor<4xi64>
  peer.atomic_write release, cta, %ps, %vs, %ms : tensor<4x!tt.ptr<i64>>, tensor<4xi64>
  // CHECK: peer.atomic_write release, sys, %{{.*}}, %{{.*}} : tensor<4x!tt.ptr<i64>>, i64
  peer.atomic_write release, sys, %ps, %w : tensor<4x!tt.ptr<i64>>, i64
  // CHECK: peer.atomic_spin_wait acquire, sys, ge, %{{.*}}, %{{.*}} within %{{.*}}, %{{.*}} : !tt.ptr<i32>, i32
  %0 = peer.atomic_spin_wait acquire, sys, ge, %p, %v within %deadline, %group : !tt.ptr<i32>, i32
  // CHECK: peer.atomic_spin_wait relaxed, gpu, eq, %{{.*}}, %{{.*}}, %{{.*}} within %{{.*}}, %{{.*}} : tensor<4x!tt.ptr<i64>>, i64
  %1 = peer.atomic_spin_wait relaxed, gpu, eq, %ps, %w, %ms within %deadline, %group : tensor<4x!tt.ptr<i64>>, i64
  // CHECK: peer.atomic_spin_wait relaxed, sys, hi, %{{.*}}, %{{.*}} within %{{.*}}, %{{.*}} : tensor<4x!tt.ptr<i64>>, tensor<4xi64>
  %2 = peer.atomic_spin_wait relaxed, sys, hi, %ps, %vs within %deadline, %group : tensor<4x!tt.ptr<i64>>, tensor<4xi64>
  // CHECK: peer.atomic_spin_wait relaxed, sys, lt
  %3 = peer.atomic_spin_wait relaxed, sys, lt, %p, %v within %deadline, %group : !tt.ptr<i32>, i32
  // CHECK: peer.atomic_spin_wait relaxed, sys, le
  %4 = peer.atomic_spin_wait relaxed, sys, le, %p, %v within %deadline, %group : !tt.ptr<i32>, i32
  // CHECK: peer.atomic_spin_wait relaxed, sys, gt
  %5 = peer.atomic_spin_wait relaxed, sys, gt, %p, %v within %deadline, %group : !tt.ptr<i32>, i32
  // CHECK: peer.release_fence
  peer.release_fence
  // CHECK: peer.hold %{{.*}} : i64
  %6 = peer.hold %w : i64
  tt.return
}
