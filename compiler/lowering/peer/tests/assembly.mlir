// RUN: heddle-opt %s -heddle-implement-peer-calls=target=nvptx | mlir-translate -mlir-to-llvmir -o %t.nvptx
// RUN: llc -O3 -mtriple=nvptx64-nvidia-cuda -mcpu=sm_90a %t.nvptx -o - | FileCheck %s --check-prefix=PTX
// RUN: heddle-opt %s -heddle-implement-peer-calls=target=amdgpu | mlir-translate -mlir-to-llvmir -o %t.amdgpu
// RUN: opt -O3 -mtriple=amdgcn-amd-amdhsa -mcpu=gfx942 %t.amdgpu | llc -O3 -mcpu=gfx942 -o - | FileCheck %s --check-prefix=GCN
// RUN: opt -O3 -mtriple=amdgcn-amd-amdhsa -mcpu=gfx950 %t.amdgpu | llc -O3 -mcpu=gfx950 -o - | FileCheck %s --check-prefix=GCN
// RUN: llc -O0 -mtriple=amdgcn-amd-amdhsa -mcpu=gfx942 %t.amdgpu -o - | FileCheck %s --check-prefix=GCN
// The machine's instructions, also after the optimiser. On AMD the flag is stored when the write-back has been waited for,
// and the cache is invalidated once, after the loop.

llvm.func @__heddle_atomicwrite_i32_release_system_nomask(!llvm.ptr<1>, i32) -> i32
llvm.func @__heddle_atomicwrite_i64_release_gpu_mask(!llvm.ptr<1>, i64, i32) -> i64
llvm.func @__heddle_atomicwrite_i64_relaxed_system_nomask(!llvm.ptr<1>, i64) -> i64
llvm.func @__heddle_atomicspinwait_i64_acquire_system_ge_mask(!llvm.ptr<1>, i64, i64, !llvm.ptr<1>, i32) -> i64
llvm.func @__heddle_atomicspinwait_i64_relaxed_system_hi_nomask(!llvm.ptr<1>, i64, i64, !llvm.ptr<1>) -> i64
llvm.func @__heddle_atomicspinwait_i32_acquire_gpu_lt_nomask(!llvm.ptr<1>, i32, i64, !llvm.ptr<1>) -> i32
llvm.func @__heddle_releasefence() -> i32
llvm.func @__heddle_gettid() -> i32

// PTX-NOT: {{membar|fence|atom}}
// PTX-LABEL: .func release_system(
// PTX: st.release.sys.global.b32
// GCN-LABEL: {{^}}release_system:
// GCN: buffer_wbl2 sc0 sc1
// GCN: s_waitcnt vmcnt(0)
// GCN: global_store_dword {{.*}} sc0 sc1
llvm.func @release_system(%p: !llvm.ptr<1>, %v: i32) {
  %0 = llvm.call @__heddle_atomicwrite_i32_release_system_nomask(%p, %v) : (!llvm.ptr<1>, i32) -> i32
  llvm.return
}

// PTX-LABEL: .func release_gpu(
// PTX: setp.eq.b32 [[OFF:%p[0-9]+]], {{.*}}, 0;
// PTX: @[[OFF]] bra
// PTX: st.release.gpu.global.b64
// GCN-LABEL: {{^}}release_gpu:
// GCN: buffer_wbl2 sc1
// GCN: s_waitcnt vmcnt(0)
// GCN: global_store_dwordx2 {{.*}} sc1
llvm.func @release_gpu(%p: !llvm.ptr<1>, %v: i64, %m: i32) {
  %0 = llvm.call @__heddle_atomicwrite_i64_release_gpu_mask(%p, %v, %m) : (!llvm.ptr<1>, i64, i32) -> i64
  llvm.return
}

// PTX-LABEL: .func packet(
// PTX: st.relaxed.sys.global.b64
// GCN-LABEL: {{^}}packet:
// GCN-NOT: buffer_wbl2
// GCN: global_store_dwordx2 {{.*}} sc0 sc1
llvm.func @packet(%p: !llvm.ptr<1>, %v: i64) {
  %0 = llvm.call @__heddle_atomicwrite_i64_relaxed_system_nomask(%p, %v) : (!llvm.ptr<1>, i64) -> i64
  llvm.return
}

// PTX-LABEL: acquire_system(
// PTX: [[LOOP:\$L[A-Z0-9_]+]]: {{.*}} Loop Header
// PTX: ld.acquire.sys.global.b64 [[SEEN:%rd[0-9]+]]
// PTX: setp.{{ge|lt}}.u64
// PTX: {{%globaltimer}}
// PTX: ld.relaxed.sys.global.b32
// PTX: ret;
// GCN-LABEL: {{^}}acquire_system:
// GCN-NOT: buffer_inv
// GCN: global_load_dwordx2 {{.*}} sc0 sc1
// GCN-NOT: buffer_inv
// GCN: s_memrealtime
// GCN-NOT: buffer_inv
// GCN: global_load_dword {{.*}} sc0 sc1
// GCN: buffer_inv sc0 sc1
// GCN-NOT: {{global_load|buffer_inv}}
// GCN: s_setpc_b64
llvm.func @acquire_system(%p: !llvm.ptr<1>, %v: i64, %d: i64, %g: !llvm.ptr<1>, %m: i32) -> i64 {
  %0 = llvm.call @__heddle_atomicspinwait_i64_acquire_system_ge_mask(%p, %v, %d, %g, %m) : (!llvm.ptr<1>, i64, i64, !llvm.ptr<1>, i32) -> i64
  llvm.return %0 : i64
}

// PTX-LABEL: packet_wait(
// PTX: ld.relaxed.sys.global.b64
// GCN-LABEL: {{^}}packet_wait:
// GCN-NOT: buffer_inv
// GCN: s_setpc_b64
llvm.func @packet_wait(%p: !llvm.ptr<1>, %v: i64, %d: i64, %g: !llvm.ptr<1>) -> i64 {
  %0 = llvm.call @__heddle_atomicspinwait_i64_relaxed_system_hi_nomask(%p, %v, %d, %g) : (!llvm.ptr<1>, i64, i64, !llvm.ptr<1>) -> i64
  llvm.return %0 : i64
}

// PTX-LABEL: acquire_gpu(
// PTX: ld.acquire.gpu.global.b32
// PTX: setp.{{ge|lt}}.u32
// GCN-LABEL: {{^}}acquire_gpu:
// GCN: global_load_dword {{.*}} sc1
// GCN: buffer_inv sc1
// GCN: s_setpc_b64
llvm.func @acquire_gpu(%p: !llvm.ptr<1>, %v: i32, %d: i64, %g: !llvm.ptr<1>) -> i32 {
  %0 = llvm.call @__heddle_atomicspinwait_i32_acquire_gpu_lt_nomask(%p, %v, %d, %g) : (!llvm.ptr<1>, i32, i64, !llvm.ptr<1>) -> i32
  llvm.return %0 : i32
}

// PTX-LABEL: fence_and_thread(
// PTX: %tid.x
// GCN-LABEL: {{^}}fence_and_thread:
// GCN: buffer_wbl2 sc0 sc1
// GCN: s_waitcnt vmcnt(0)
llvm.func @fence_and_thread() -> i32 {
  %0 = llvm.call @__heddle_releasefence() : () -> i32
  %1 = llvm.call @__heddle_gettid() : () -> i32
  llvm.return %1 : i32
}
