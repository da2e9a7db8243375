// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What blockKernel() adds to Emission.h: memory objects, copies, buffer accesses, instructions of AMD's chips. Every
// function throws Error{Input} in a kernel() without layouts.
#pragma once
#include "frontend/build/Layout.h"

namespace heddle::build::detail {

/// A memory object with the elements of `value`, if there is one.
Handle emitAllocateShared(const TileType &type, const SharedLayout &layout, Handle value, Position where);
void emitDeallocateShared(Handle memory, Position where);
Handle emitSharedIndex(Handle ring, Handle index, Position where);
Handle emitSharedSlice(Handle memory, const TileType &type, const std::vector<int32_t> &offsets, Position where);
Handle emitSharedTranspose(Handle memory, const std::vector<int32_t> &order, Position where);
Handle emitSharedReinterpret(Handle memory, const TileType &type, const SharedLayout &layout, Position where);
/// `relaxed`: a wait and a barrier already order it after the copies.
Handle emitSharedLoad(Handle memory, const Layout &layout, bool relaxed, Position where);
void emitSharedStore(Handle memory, Handle value, Position where);
Handle emitSharedGather(Handle memory, Handle indices, int axis, Position where);
void emitSharedScatter(Handle memory, Handle indices, Handle value, int axis, Position where);

/// A pointer of the block and a tile of offsets of 32 bits, in elements; mask and other may be absent.
struct BufferPart {
  Handle pointer, offsets, mask, other = {};
};
Handle emitBufferLoad(const BufferPart &from, Cache cache, Position where);
void emitBufferStore(const BufferPart &to, Handle value, Cache cache, Position where);
Handle emitBufferAtomic(Atomic kind, const BufferPart &at, Handle value, Order order, Scope scope, Position where);
Handle emitBufferCompareAndSwap(const BufferPart &at, Handle expected, Handle desired, Order order, Scope scope,
                                Position where);

void emitBufferCopy(Handle memory, const BufferPart &from, Cache cache, Position where);
void emitGlobalCopy(Handle memory, Handle pointers, Handle mask, Handle other, Access access, Position where);
void emitAsyncCommit(Position where);
void emitAsyncWait(int groups, Position where);

/// Elements of one operand of a matmul with scales; `scale` may be absent.
struct ScaledOperand {
  Handle value, scale;
  const char *format; ///< of Triton's text: `e4m3`, `e2m1`
};
Handle emitScaledDot(const ScaledOperand &a, const ScaledOperand &b, Handle c, Position where);

/// Words or a number (triton::amdg::scheduleKinds); priorities from 0 to 3. Faults at `where` for others.
void emitScheduleBarrier(const char *kinds, Position where);
void emitSetPriority(int priority, Position where);
void emitStageBorder(const char *label, int priority, Position where);
Handle emitWarpId(Position where);

} // namespace heddle::build::detail
