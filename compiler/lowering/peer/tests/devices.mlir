// RUN: heddle-opt %s -heddle-implement-peer-calls=target=nvptx | FileCheck %s --check-prefix=NVPTX
// RUN: heddle-opt %s -heddle-implement-peer-calls=target=amdgpu | FileCheck %s --check-prefix=AMD
// Thread, clock and fence of the devices. On NVIDIA the barrier of the block and one thread's release cover the others'
// stores; on AMD each thread writes back its own.

llvm.func @__heddle_gettid() -> i32
llvm.func @__heddle_clock() -> i64
llvm.func @__heddle_releasefence() -> i32

llvm.func @others() -> i64 {
  // NVPTX: llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"() : () -> i32
  // AMD: llvm.call_intrinsic "llvm.amdgcn.workitem.id.x"() : () -> i32
  %0 = llvm.call @__heddle_gettid() : () -> i32
  // NVPTX-NOT: fence
  // AMD: llvm.fence release
  // AMD: llvm.mlir.constant(3952 : i32)
  // AMD: llvm.call_intrinsic "llvm.amdgcn.s.waitcnt"
  %1 = llvm.call @__heddle_releasefence() : () -> i32
  // NVPTX: %[[NOW:.*]] = llvm.call_intrinsic "llvm.readsteadycounter"() : () -> i64
  // NVPTX: llvm.return %[[NOW]]
  // 100 MHz.
  // AMD: %[[TICKS:.*]] = llvm.call_intrinsic "llvm.readsteadycounter"() : () -> i64
  // AMD: %[[TEN:.*]] = llvm.mlir.constant(10 : i64)
  // AMD: %[[NOW:.*]] = llvm.mul %[[TICKS]], %[[TEN]]
  // AMD: llvm.return %[[NOW]]
  %2 = llvm.call @__heddle_clock() : () -> i64
  llvm.return %2 : i64
}
