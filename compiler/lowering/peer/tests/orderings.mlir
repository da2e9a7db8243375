// RUN: heddle-opt %s -heddle-implement-peer-calls=target=host | FileCheck %s --check-prefixes=ALL,HOST
// RUN: heddle-opt %s -heddle-implement-peer-calls=target=nvptx | FileCheck %s --check-prefixes=ALL,NVPTX
// RUN: heddle-opt %s -heddle-implement-peer-calls=target=amdgpu | FileCheck %s --check-prefixes=ALL,AMD
// Orderings, scopes and alignment of stores and loads. On AMD a release is a fence, a wait, a relaxed store; an acquire is a
// relaxed loop and one fence. The host knows one address space and no scopes; a fence before a release is for stores past
// the caches.

llvm.func @__heddle_atomicwrite_i32_relaxed_system_nomask(!llvm.ptr<1>, i32) -> i32
llvm.func @__heddle_atomicwrite_i64_release_system_nomask(!llvm.ptr<1>, i64) -> i64
llvm.func @__heddle_atomicwrite_i32_release_gpu_nomask(!llvm.ptr<1>, i32) -> i32
llvm.func @__heddle_atomicwrite_i32_release_cta_nomask(!llvm.ptr<1>, i32) -> i32
llvm.func @__heddle_atomicwrite_i32_relaxed_gpu_nomask(!llvm.ptr<1>, i32) -> i32
llvm.func @__heddle_atomicspinwait_i32_relaxed_system_eq_nomask(!llvm.ptr<1>, i32, i64, !llvm.ptr<1>) -> i32
llvm.func @__heddle_atomicspinwait_i64_acquire_system_ge_nomask(!llvm.ptr<1>, i64, i64, !llvm.ptr<1>) -> i64
llvm.func @__heddle_atomicspinwait_i32_acquire_gpu_ge_nomask(!llvm.ptr<1>, i32, i64, !llvm.ptr<1>) -> i32
llvm.func @__heddle_atomicspinwait_i32_relaxed_cta_ge_nomask(!llvm.ptr<1>, i32, i64, !llvm.ptr<1>) -> i32

// ALL-NOT: __heddle_
// ALL-LABEL: llvm.func @writes
llvm.func @writes(%p: !llvm.ptr<1>, %v: i32, %w: i64) {
  // HOST: %[[P:.*]] = llvm.addrspacecast %arg0 : !llvm.ptr<1> to !llvm.ptr
  // HOST: llvm.store %arg1, %[[P]] atomic monotonic {alignment = 4 : i64} : i32, !llvm.ptr
  // NVPTX: llvm.store %arg1, %arg0 atomic monotonic {alignment = 4 : i64} : i32, !llvm.ptr<1>
  // AMD: llvm.store %arg1, %arg0 atomic monotonic {alignment = 4 : i64} : i32, !llvm.ptr<1>
  llvm.call @__heddle_atomicwrite_i32_relaxed_system_nomask(%p, %v) : (!llvm.ptr<1>, i32) -> i32
  // HOST: llvm.call_intrinsic "llvm.x86.sse.sfence"()
  // HOST-NEXT: llvm.store %arg2, %{{.*}} atomic release {alignment = 8 : i64} : i64, !llvm.ptr
  // NVPTX: llvm.store %arg2, %arg0 atomic release {alignment = 8 : i64} : i64, !llvm.ptr<1>
  // AMD: llvm.fence release
  // AMD-NEXT: %[[W:.*]] = llvm.mlir.constant(3952 : i32) : i32
  // AMD-NEXT: llvm.call_intrinsic "llvm.amdgcn.s.waitcnt"(%[[W]])
  // AMD-NEXT: llvm.store %arg2, %arg0 atomic monotonic {alignment = 8 : i64} : i64, !llvm.ptr<1>
  llvm.call @__heddle_atomicwrite_i64_release_system_nomask(%p, %w) : (!llvm.ptr<1>, i64) -> i64
  // HOST: llvm.call_intrinsic "llvm.x86.sse.sfence"()
  // HOST-NEXT: llvm.store %arg1, %{{.*}} atomic release {alignment = 4 : i64} : i32, !llvm.ptr
  // NVPTX: llvm.store %arg1, %arg0 atomic syncscope("device") release {alignment = 4 : i64} : i32, !llvm.ptr<1>
  // AMD: llvm.fence syncscope("agent") release
  // AMD: llvm.amdgcn.s.waitcnt
  // AMD: llvm.store %arg1, %arg0 atomic syncscope("agent") monotonic {alignment = 4 : i64} : i32, !llvm.ptr<1>
  llvm.call @__heddle_atomicwrite_i32_release_gpu_nomask(%p, %v) : (!llvm.ptr<1>, i32) -> i32
  // HOST: llvm.call_intrinsic "llvm.x86.sse.sfence"()
  // HOST-NEXT: llvm.store %arg1, %{{.*}} atomic release {alignment = 4 : i64} : i32, !llvm.ptr
  // NVPTX: llvm.store %arg1, %arg0 atomic syncscope("block") release {alignment = 4 : i64} : i32, !llvm.ptr<1>
  // AMD: llvm.fence syncscope("workgroup") release
  // AMD: llvm.store %arg1, %arg0 atomic syncscope("workgroup") monotonic {alignment = 4 : i64} : i32, !llvm.ptr<1>
  llvm.call @__heddle_atomicwrite_i32_release_cta_nomask(%p, %v) : (!llvm.ptr<1>, i32) -> i32
  // HOST: llvm.store %arg1, %{{.*}} atomic monotonic {alignment = 4 : i64} : i32, !llvm.ptr
  // NVPTX: llvm.store %arg1, %arg0 atomic syncscope("device") monotonic
  // AMD-NOT: llvm.fence
  // AMD: llvm.store %arg1, %arg0 atomic syncscope("agent") monotonic
  llvm.call @__heddle_atomicwrite_i32_relaxed_gpu_nomask(%p, %v) : (!llvm.ptr<1>, i32) -> i32
  llvm.return
}

// ALL-LABEL: llvm.func @relaxed
llvm.func @relaxed(%p: !llvm.ptr<1>, %v: i32, %d: i64, %g: !llvm.ptr<1>) {
  // HOST: llvm.load %{{.*}} atomic monotonic {alignment = 4 : i64} : !llvm.ptr -> i32
  // NVPTX: llvm.load %arg0 atomic monotonic {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  // AMD: llvm.load %arg0 atomic monotonic {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  // ALL-NOT: llvm.fence
  // ALL: llvm.return
  %0 = llvm.call @__heddle_atomicspinwait_i32_relaxed_system_eq_nomask(%p, %v, %d, %g) : (!llvm.ptr<1>, i32, i64, !llvm.ptr<1>) -> i32
  llvm.return
}

// ALL-LABEL: llvm.func @acquire
llvm.func @acquire(%p: !llvm.ptr<1>, %w: i64, %d: i64, %g: !llvm.ptr<1>) -> i64 {
  // HOST: llvm.load %{{.*}} atomic acquire {alignment = 8 : i64} : !llvm.ptr -> i64
  // HOST-NOT: llvm.fence
  // NVPTX: llvm.load %arg0 atomic acquire {alignment = 8 : i64} : !llvm.ptr<1> -> i64
  // NVPTX-NOT: llvm.fence
  // AMD: llvm.load %arg0 atomic monotonic {alignment = 8 : i64} : !llvm.ptr<1> -> i64
  // AMD: ^bb{{.*}}(%[[V:.*]]: i64):
  // AMD-NEXT: llvm.fence acquire
  // AMD-NEXT: llvm.br ^bb{{.*}}(%[[V]] : i64)
  // ALL: llvm.return
  %0 = llvm.call @__heddle_atomicspinwait_i64_acquire_system_ge_nomask(%p, %w, %d, %g) : (!llvm.ptr<1>, i64, i64, !llvm.ptr<1>) -> i64
  llvm.return %0 : i64
}

// ALL-LABEL: llvm.func @scoped
llvm.func @scoped(%p: !llvm.ptr<1>, %v: i32, %d: i64, %g: !llvm.ptr<1>) {
  // HOST: llvm.load %{{.*}} atomic acquire {alignment = 4 : i64} : !llvm.ptr -> i32
  // NVPTX: llvm.load %arg0 atomic syncscope("device") acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  // AMD: llvm.load %arg0 atomic syncscope("agent") monotonic {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  // AMD: llvm.fence syncscope("agent") acquire
  %0 = llvm.call @__heddle_atomicspinwait_i32_acquire_gpu_ge_nomask(%p, %v, %d, %g) : (!llvm.ptr<1>, i32, i64, !llvm.ptr<1>) -> i32
  // HOST: llvm.load %{{.*}} atomic monotonic {alignment = 4 : i64} : !llvm.ptr -> i32
  // NVPTX: llvm.load %arg0 atomic syncscope("block") monotonic {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  // AMD: llvm.load %arg0 atomic syncscope("workgroup") monotonic {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  %1 = llvm.call @__heddle_atomicspinwait_i32_relaxed_cta_ge_nomask(%p, %v, %d, %g) : (!llvm.ptr<1>, i32, i64, !llvm.ptr<1>) -> i32
  llvm.return
}
// ALL-NOT: __heddle_
