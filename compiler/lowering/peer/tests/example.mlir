// RUN: heddle-opt %s -heddle-peer-to-calls | FileCheck %s
// Each operation is a call whose name says everything; scalars beside a tile are spread over it.

// CHECK-LABEL: @scalars
tt.func @scalars(%p: !tt.ptr<i64>, %v: i64, %m: i1, %d: i64, %g: !tt.ptr<i64>) -> i64 {
  // CHECK: tt.extern_elementwise %arg0, %arg1 {libname = "", libpath = "", pure = false, symbol = "__heddle_atomicwrite_i64_release_system_nomask"} : (!tt.ptr<i64>, i64) -> i64
  peer.atomic_write release, sys, %p, %v : !tt.ptr<i64>, i64
  // CHECK: tt.extern_elementwise %arg0, %arg1, %arg2 {{.*}} symbol = "__heddle_atomicwrite_i64_relaxed_gpu_mask"} : (!tt.ptr<i64>, i64, i1) -> i64
  peer.atomic_write relaxed, gpu, %p, %v, %m : !tt.ptr<i64>, i64
  // CHECK: %[[SEEN:.*]] = tt.extern_elementwise %arg0, %arg1, %arg3, %arg4 {{.*}} pure = false, symbol = "__heddle_atomicspinwait_i64_acquire_cta_le_nomask"} : (!tt.ptr<i64>, i64, i64, !tt.ptr<i64>) -> i64
  %seen = peer.atomic_spin_wait acquire, cta, le, %p, %v within %d, %g : !tt.ptr<i64>, i64
  // CHECK: tt.extern_elementwise {{.*}} symbol = "__heddle_atomicspinwait_i64_relaxed_system_hi_mask"} : (!tt.ptr<i64>, i64, i64, !tt.ptr<i64>, i1) -> i64
  %0 = peer.atomic_spin_wait relaxed, sys, hi, %p, %v, %m within %d, %g : !tt.ptr<i64>, i64
  // CHECK: return %[[SEEN]]
  tt.return %seen : i64
}

// CHECK-LABEL: @tiles
tt.func @tiles(%p: tensor<4x!tt.ptr<i32>>, %v: i32, %m: tensor<4xi1>, %vs: tensor<4xi32>, %d: i64, %g: !tt.ptr<i64>) {
  // CHECK: %[[V:.*]] = tt.splat %arg1 : i32 -> tensor<4xi32>
  // CHECK: tt.extern_elementwise %arg0, %[[V]] {{.*}} symbol = "__heddle_atomicwrite_i32_relaxed_cta_nomask"} : (tensor<4x!tt.ptr<i32>>, tensor<4xi32>) -> tensor<4xi32>
  peer.atomic_write relaxed, cta, %p, %v : tensor<4x!tt.ptr<i32>>, i32
  // CHECK: tt.extern_elementwise %arg0, %arg3, %arg2 {{.*}} symbol = "__heddle_atomicwrite_i32_release_system_mask"} : (tensor<4x!tt.ptr<i32>>, tensor<4xi32>, tensor<4xi1>) -> tensor<4xi32>
  peer.atomic_write release, sys, %p, %vs, %m : tensor<4x!tt.ptr<i32>>, tensor<4xi32>
  // CHECK: %[[D:.*]] = tt.splat %arg4 : i64 -> tensor<4xi64>
  // CHECK: %[[G:.*]] = tt.splat %arg5 : !tt.ptr<i64> -> tensor<4x!tt.ptr<i64>>
  // CHECK: tt.extern_elementwise %arg0, %arg3, %[[D]], %[[G]], %arg2 {{.*}} symbol = "__heddle_atomicspinwait_i32_acquire_system_ge_mask"} : (tensor<4x!tt.ptr<i32>>, tensor<4xi32>, tensor<4xi64>, tensor<4x!tt.ptr<i64>>, tensor<4xi1>) -> tensor<4xi32>
  %0 = peer.atomic_spin_wait acquire, sys, ge, %p, %vs, %m within %d, %g : tensor<4x!tt.ptr<i32>>, tensor<4xi32>
  tt.return
}

// CHECK-LABEL: @others
tt.func @others() -> (i32, i64) {
  // CHECK: %[[T:.*]] = tt.extern_elementwise  {{.*}}pure = true, symbol = "__heddle_gettid"} : () -> i32
  %thread = peer.thread_id : i32
  // CHECK: %[[C:.*]] = tt.extern_elementwise  {{.*}}pure = false, symbol = "__heddle_clock"} : () -> i64
  %clock = peer.clock : i64
  // CHECK: %[[H:.*]] = tt.extern_elementwise %[[C]] {{.*}}pure = false, symbol = "__heddle_hold"} : (i64) -> i64
  %held = peer.hold %clock : i64
  // CHECK: tt.extern_elementwise  {{.*}}pure = false, symbol = "__heddle_releasefence"} : () -> i32
  peer.release_fence
  // CHECK: return %[[T]], %[[H]]
  tt.return %thread, %held : i32, i64
}
