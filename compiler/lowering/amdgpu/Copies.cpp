// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copies straight to LDS, and reads that transpose. Waits are explicit, for as many instructions as may stay in flight;
// LLVM is told that accesses to LDS need no others (emit/CopyScopes.h).
#include "chips/AmdBuffer.h"
#include "chips/AmdWaits.h"
#include "compiler/lowering/amdgpu/AmdTarget.h"
#include "compiler/lowering/amdgpu/Buffers.h"
#include "compiler/lowering/simt/Vectors.h"

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

// `use-buffers` chooses the instruction.
void AmdTarget::copyDirectly(Builder &b, Value shared, Value global, Value mask, int64_t bytes,
                             triton::CacheModifier cache) const {
  Value operands[] = {global, shared, i32(b, bytes), i32(b, 0), i32(b, policyOf(cache))};
  SmallVector<ValueRange, 1> bundles;
  if (mask)
    bundles.push_back(mask);
  LLVM::CallIntrinsicOp::create(b, Type(), "llvm.amdgcn.global.load.lds", operands, LLVM::FastmathFlags::none, bundles,
                                mask ? b.getStrArrayAttr({buffer::copyMask}) : ArrayAttr(), ArrayAttr(), ArrayAttr());
}

void AmdTarget::copyBufferDirectly(Builder &b, Value shared, const BufferPlace &place, int64_t bytes,
                                   triton::CacheModifier cache) const {
  Value resource = descriptorOf(b, place.pointer), offset = offsetOf(b, place);
  ROCDL::RawPtrBufferLoadLdsOp::create(b, resource, shared, i32(b, bytes), offset, i32(b, 0), i32(b, 0),
                                       i32(b, policyOf(cache)), ArrayAttr(), ArrayAttr(), ArrayAttr());
}

Value AmdTarget::offsetIfAllowed(Builder &b, const BufferPlace &place) const {
  return offsetOf(b, place);
}

// LLVM has no i8 here: the words' bytes are in the order of the rows.
AmdTarget::Values AmdTarget::readTransposed(Builder &b, Value shared, Type element) const {
  int64_t bits = element.getIntOrFloatBitWidth();
  ArrayAttr none;
  if (bits == 16)
    return simt::apart(b, ROCDL::ds_read_tr16_b64::create(b, VectorType::get(4, element), shared, none, none, none));
  auto type = VectorType::get(2, b.getI32Type());
  Value words = bits == 4 ? Value(ROCDL::ds_read_tr4_b64::create(b, type, shared, none, none, none))
                          : Value(ROCDL::ds_read_tr8_b64::create(b, type, shared, none, none, none));
  return simt::apart(b, LLVM::BitcastOp::create(b, VectorType::get(8, b.getI8Type()), words));
}

// The immediate of s_waitcnt: vmcnt in bits 0 to 3 and 14, 15; the other counters at their most.
void AmdTarget::waitForCopies(Builder &b, int64_t instructions) const {
  constexpr int64_t most = 63, others = 0x0F70;
  int64_t count = std::min(instructions, most);
  ROCDL::SWaitcntOp::create(b, uint32_t(others | (count & 15) | (count >> 4) << 14));
}

// A release fence of the workgroup would wait for all copies in flight. Those of a wavefront wait for nothing, and keep
// LLVM from moving accesses over the barrier.
static void barrierWithin(simt::GpuTarget::Builder &b, bool waitsForShared) {
  ROCDL::SchedBarrier::create(b, 0u);
  LLVM::FenceOp::create(b, LLVM::AtomicOrdering::acq_rel, "wavefront");
  if (waitsForShared)
    ROCDL::SWaitcntOp::create(b, waitForLgkmcnt0);
  ROCDL::SBarrierOp::create(b);
  LLVM::FenceOp::create(b, LLVM::AtomicOrdering::acq_rel, "wavefront");
}

void AmdTarget::sharedBarrier(Builder &b) const {
  barrierWithin(b, /*waitsForShared=*/true);
}

void AmdTarget::bareBarrier(Builder &b) const {
  barrierWithin(b, /*waitsForShared=*/false);
}
