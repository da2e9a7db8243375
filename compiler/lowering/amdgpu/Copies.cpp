// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copies straight to LDS. Waits are explicit, for as many instructions as may stay in flight; LLVM is told that
// accesses to LDS need no others (emit/CopyScopes.h).
#include "chips/AmdBuffer.h"
#include "compiler/lowering/amdgpu/AmdTarget.h"
#include "compiler/lowering/amdgpu/Buffers.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::amdgpu;

llvm::SmallVector<int64_t> AmdTarget::directCopyBytes() const {
  llvm::SmallVector<int64_t> bytes;
  for (int bits : chip.sharedCopies.laneBits)
    if (llvm::isPowerOf2_32(uint32_t(bits))) // 96 bits take 128 in LDS
      bytes.push_back(bits / 8);
  llvm::sort(bytes, std::greater());
  return bytes;
}

// LLVM 22 believes that lgkmcnt counts this instruction, which it does not, and waits for one LDS operation too few
// where one before it is read after it (mended by llvm/llvm-project#179305; tests/cli/amd.test says when). So none is
// in flight when it is issued, and none moves between that wait and the instruction.
void AmdTarget::copyDirectly(Builder &b, Value shared, Value global, int64_t bytes, triton::CacheModifier cache) const {
  constexpr int32_t allButLds = 0x7FF & ~0x380, lgkmcnt0 = 0xC07F;
  call(b, "llvm.amdgcn.sched.barrier", {i32(b, allButLds)});
  call(b, "llvm.amdgcn.s.waitcnt", {i32(b, lgkmcnt0)});
  call(b, "llvm.amdgcn.global.load.lds", {global, shared, i32(b, bytes), i32(b, 0), i32(b, policyOf(cache))});
  call(b, "llvm.amdgcn.sched.barrier", {i32(b, allButLds)});
}

void AmdTarget::copyBufferDirectly(Builder &b, Value shared, const BufferPlace &place, int64_t bytes,
                                   triton::CacheModifier cache) const {
  call(b, "llvm.amdgcn.raw.ptr.buffer.load.lds",
       {descriptorOf(b, place.pointer), shared, i32(b, bytes), offsetOf(b, place), i32(b, 0), i32(b, 0),
        i32(b, policyOf(cache))});
}

// The immediate of s_waitcnt: vmcnt in bits 0 to 3 and 14, 15; the other counters at their most.
void AmdTarget::waitForCopies(Builder &b, int64_t instructions) const {
  constexpr int64_t most = 63, others = 0x0F70;
  int64_t count = std::min(instructions, most);
  call(b, "llvm.amdgcn.s.waitcnt", {i32(b, others | (count & 15) | (count >> 4) << 14)});
}

// A release fence of the workgroup would wait for all copies in flight. Those of a wavefront wait for nothing, and keep
// LLVM from moving accesses over the barrier.
void AmdTarget::sharedBarrier(Builder &b) const {
  constexpr int32_t lgkmcnt0 = 0xC07F;
  call(b, "llvm.amdgcn.sched.barrier", {i32(b, 0)});
  LLVM::FenceOp::create(b, LLVM::AtomicOrdering::acq_rel, "wavefront");
  call(b, "llvm.amdgcn.s.waitcnt", {i32(b, lgkmcnt0)});
  call(b, "llvm.amdgcn.s.barrier", {});
  LLVM::FenceOp::create(b, LLVM::AtomicOrdering::acq_rel, "wavefront");
}
