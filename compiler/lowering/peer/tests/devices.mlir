// RUN: heddle-opt %s -heddle-implement-peer-calls=target=nvptx | FileCheck %s --check-prefix=NVPTX
// RUN: heddle-opt %s -heddle-implement-peer-calls=target=amdgpu | FileCheck %s --check-prefix=AMD
// Thread, clock, held values and fence of the devices. On NVIDIA the barrier of the block and one thread's release
// cover the others' stores; on AMD each thread writes back its own.

llvm.func @__heddle_gettid() -> i32
llvm.func @__heddle_clock() -> i64
llvm.func @__heddle_hold(i64) -> i64
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

// NVPTX-LABEL: @held
// AMD-LABEL: @held
llvm.func @held(%value: i64) -> i64 {
  // NVPTX: %[[HELD:.*]] = llvm.inline_asm has_side_effects "", "=l,0" %arg0 : (i64) -> i64
  // NVPTX: llvm.return %[[HELD]]
  // AMD-NEXT: llvm.return %arg0
  %0 = llvm.call @__heddle_hold(%value) : (i64) -> i64
  llvm.return %0 : i64
}
