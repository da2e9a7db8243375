// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads fields of the group's record, computes addresses of other ranks, and writes the error record.
#include "compiler/transforms/PeerEmitter.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::peer;
using namespace heddle::triton;

Value PeerEmitter::i32(int64_t value) {
  return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value)));
}
Value PeerEmitter::i64(int64_t value) {
  return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
}

Value PeerEmitter::inShapeOf(Value value, Value like) {
  auto tile = dyn_cast<RankedTensorType>(like.getType());
  if (!tile || isa<RankedTensorType>(value.getType()))
    return value;
  return SplatOp::create(b, tile.clone(value.getType()), value);
}

Value PeerEmitter::offset(Value pointer, Value elements) {
  pointer = inShapeOf(pointer, elements);
  return AddPtrOp::create(b, pointer.getType(), pointer, inShapeOf(elements, pointer));
}

//===-- The group ------------------------------------------------------------------------------------------------===//

static Value load(ImplicitLocOpBuilder &b, Value pointer, bool isVolatile = false) {
  return LoadOp::create(b, valueTypeOf(pointer.getType()), pointer, Value(), Value(), ArrayRef<int32_t>(),
                        PaddingOptionAttr(), CacheModifier::None, EvictionPolicy::Normal, isVolatile);
}

// A group does not change while a kernel runs, nor while the launch before it does: these loads may be moved and
// shared across waits.
static Value loadInvariant(ImplicitLocOpBuilder &b, Value pointer) {
  Value value = load(b, pointer);
  value.getDefiningOp()->setAttr("peer.invariant", b.getUnitAttr());
  return value;
}

Value PeerEmitter::field(int64_t offsetBytes) {
  return loadInvariant(b, offset(group, i32(offsetBytes / 8)));
}

Value PeerEmitter::rank() {
  return arith::TruncIOp::create(b, b.getI32Type(), field(offsetof(PeerGroup, rank)));
}

Value PeerEmitter::limit() {
  return arith::MinUIOp::create(b, field(offsetof(PeerGroup, limitNs)), i64(maxLimitNs));
}

// A rank that is none, in a lane that a mask excludes, still reads within the table.
Value PeerEmitter::arena(Value rank) {
  Value entry = arith::AndIOp::create(b, rank, inShapeOf(i32(maxWorldSize - 1), rank));
  entry = arith::AddIOp::create(b, entry, inShapeOf(i32(offsetof(PeerGroup, arena) / 8), rank));
  return loadInvariant(b, offset(group, entry));
}

Value PeerEmitter::address(Value pointer, Value rank) {
  Value theirs = arena(rank), distance = arith::SubIOp::create(b, theirs, inShapeOf(arena(this->rank()), theirs));
  Value place = PtrToIntOp::create(b, integerTypeOf(pointer.getType(), 64), pointer);
  return IntToPtrOp::create(b, pointer.getType(), arith::AddIOp::create(b, place, inShapeOf(distance, place)));
}

//===-- The error record -----------------------------------------------------------------------------------------===//

// Compare-and-swap has no mask: an element that did not fail compares with a state that does not exist. Read-modify-
// write operations without a comparison lose their scope in LLVM 22's code for NVIDIA.
void PeerEmitter::writeError(const Failure &failure, Value deadline, Value tag) {
  Value failed = failure.failed, record = field(offsetof(PeerGroup, error));
  auto spread = [&](Value value) { return inShapeOf(value, failed); };
  auto place = [&](int64_t offsetBytes, Type type) {
    Value address = arith::AddIOp::create(b, record, i64(offsetBytes));
    return spread(IntToPtrOp::create(b, PointerType::get(type, 1), address));
  };
  Value free = spread(i32(int64_t(PeerErrorState::Free)));
  Value compared = arith::SelectOp::create(b, failed, free, spread(i32(-1)));
  Value state = place(offsetof(PeerError, state), b.getI32Type());
  Value old = AtomicCASOp::create(b, free.getType(), state, compared, spread(i32(int64_t(PeerErrorState::Writing))),
                                  MemSemantic::AcquireRelease, MemScope::System);
  Value isFree = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, old, free);
  Value mine = arith::AndIOp::create(b, failed, isFree);
  auto write = [&](int64_t offsetBytes, Value value) {
    Value target = place(offsetBytes, elementTypeOf(value.getType()));
    StoreOp::create(b, target, spread(value), mine, ArrayRef<int32_t>(), CacheModifier::None, EvictionPolicy::Normal);
  };

  Value abortAddress = IntToPtrOp::create(b, PointerType::get(b.getI32Type(), 1), field(offsetof(PeerGroup, abort)));
  Value asked = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, load(b, abortAddress, /*isVolatile=*/true), i32(0));
  write(offsetof(PeerError, reason), arith::SelectOp::create(b, asked, i32(int64_t(PeerErrorReason::Abort)),
                                                             i32(int64_t(PeerErrorReason::Deadline))));
  write(offsetof(PeerError, peer), failure.peer);
  write(offsetof(PeerError, block), GetProgramIdOp::create(b, ProgramDim::X));
  write(offsetof(PeerError, expected), failure.expected);
  write(offsetof(PeerError, seen), failure.seen);
  Value start = arith::SubIOp::create(b, deadline, limit());
  write(offsetof(PeerError, elapsedNs), arith::SubIOp::create(b, ClockOp::create(b), start));
  write(offsetof(PeerError, tag), tag);
  AtomicWriteOp::create(b, MemSemantic::Release, MemScope::System, state, spread(i32(int64_t(PeerErrorState::Written))),
                        mine);
}
