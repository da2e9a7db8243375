// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Atomics of a tile program: one element after the other, in the order of the tile. Polls are in Polls.cpp.
#include "compiler/lowering/host/HostEmitter.h"
#include "compiler/lowering/peer/ExternCalls.h"
#include "compiler/lowering/peer/PeerTarget.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace heddle::host;
using namespace heddle::triton;

static LLVM::AtomicOrdering orderingOf(MemSemantic semantic) {
  switch (semantic) {
  case MemSemantic::Relaxed:
    return LLVM::AtomicOrdering::monotonic;
  case MemSemantic::Acquire:
    return LLVM::AtomicOrdering::acquire;
  case MemSemantic::Release:
    return LLVM::AtomicOrdering::release;
  case MemSemantic::AcquireRelease:
    return LLVM::AtomicOrdering::acq_rel;
  }
  llvm_unreachable("unknown memory semantic");
}

// One element; nothing for a store. Every scope is at least as wide as the process here, so scopes need no names.
Value HostEmitter::atomicStep(Operation *op, Value address, Value value, Value compare) {
  Value pointer = toPointer(address);
  if (auto load = dyn_cast<AtomicLoadOp>(op)) {
    Type type = registerType(elementTypeOf(load.getType()));
    return LLVM::LoadOp::create(b, loc, type, pointer, sizeOf(type), false, false, false, false,
                                orderingOf(load.getSem()));
  }
  Type type = value.getType();
  if (auto store = dyn_cast<AtomicStoreOp>(op)) {
    LLVM::StoreOp::create(b, loc, value, pointer, sizeOf(type), false, false, false, orderingOf(store.getSem()));
    return {};
  }
  if (auto cas = dyn_cast<AtomicCASOp>(op)) {
    Type bits = b.getIntegerType(type.getIntOrFloatBitWidth());
    auto asBits = [&](Value x) { return x.getType() == bits ? x : Value(arith::BitcastOp::create(b, loc, bits, x)); };
    LLVM::AtomicOrdering success = orderingOf(cas.getSem());
    LLVM::AtomicOrdering failure = cas.getSem() == MemSemantic::Relaxed || cas.getSem() == MemSemantic::Release
                                       ? LLVM::AtomicOrdering::monotonic
                                       : LLVM::AtomicOrdering::acquire;
    Value pair = LLVM::AtomicCmpXchgOp::create(b, loc, pointer, asBits(compare), asBits(value), success, failure);
    Value old = LLVM::ExtractValueOp::create(b, loc, pair, ArrayRef<int64_t>{0});
    return old.getType() == type ? old : Value(arith::BitcastOp::create(b, loc, type, old));
  }
  auto rmw = cast<AtomicRMWOp>(op);
  Type element = elementTypeOf(rmw.getType());
  if (rmw.getAtomicRmwOp() == RMWOp::FAdd && isNarrowFloat(element))
    return atomicNarrowAdd(rmw, pointer, value);
  return LLVM::AtomicRMWOp::create(b, loc, peer::atomicOperation(rmw.getAtomicRmwOp()), pointer, value,
                                   orderingOf(rmw.getSem()));
}

// No processor adds f16 or bf16 in memory: compare and exchange until no other thread came between.
Value HostEmitter::atomicNarrowAdd(AtomicRMWOp op, Value pointer, Value value) {
  Type element = elementTypeOf(op.getResult().getType()), type = value.getType();
  Value term = widen(value, element);
  Value first = LLVM::LoadOp::create(b, loc, type, pointer, sizeOf(type), false, false, false, false,
                                     LLVM::AtomicOrdering::monotonic);
  auto loop = scf::WhileOp::create(
      b, loc, TypeRange{type}, ValueRange{first},
      [&](OpBuilder &, Location, ValueRange seen) {
        Value sum = narrow(arith::AddFOp::create(b, loc, widen(seen[0], element), term), element);
        Value pair = LLVM::AtomicCmpXchgOp::create(b, loc, pointer, seen[0], sum, orderingOf(op.getSem()),
                                                   LLVM::AtomicOrdering::monotonic);
        Value old = LLVM::ExtractValueOp::create(b, loc, pair, ArrayRef<int64_t>{0});
        Value changed = LLVM::ExtractValueOp::create(b, loc, pair, ArrayRef<int64_t>{1});
        Value failed = arith::XOrIOp::create(b, loc, changed, constantLike(b.getI1Type(), -1, changed));
        scf::ConditionOp::create(b, loc, failed, ValueRange{old});
      },
      [&](OpBuilder &, Location, ValueRange old) { scf::YieldOp::create(b, loc, old); });
  b.setInsertionPointAfter(loop);
  return loop.getResult(0);
}

namespace {
/// What an atomic is given; null what it does not take.
struct AtomicOperands {
  Value pointer, value, compare, mask;
};
} // namespace

static AtomicOperands operandsOf(Operation *op) {
  if (auto cas = dyn_cast<AtomicCASOp>(op))
    return {cas.getPtr(), cas.getVal(), cas.getCmp(), {}};
  if (auto load = dyn_cast<AtomicLoadOp>(op))
    return {load.getPtr(), {}, {}, load.getMask()};
  if (auto store = dyn_cast<AtomicStoreOp>(op))
    return {store.getPtr(), store.getValue(), {}, store.getMask()};
  auto rmw = cast<AtomicRMWOp>(op);
  return {rmw.getPtr(), rmw.getVal(), {}, rmw.getMask()};
}

void HostEmitter::emitAtomic(Operation *op) {
  AtomicOperands given = operandsOf(op);
  if (auto store = dyn_cast<AtomicStoreOp>(op); store && store.getSem() == MemSemantic::Release)
    fenceStreams(); // unlike a locked instruction, it would overtake them
  if (isa<RankedTensorType>(given.pointer.getType()))
    return emitAtomicTile(op, given.pointer, {given.value, given.compare}, given.mask);
  PieceScope scope(*this, 1);
  Access access = accessAt(op, given.pointer, given.mask, {});
  auto step = [&] {
    return atomicStep(op, access.address.scalar, given.value ? scalar(given.value) : Value(),
                      given.compare ? scalar(given.compare) : Value());
  };
  Value result = op->getNumResults() ? op->getResult(0) : Value();
  if (!access.mask) {
    Value old = step();
    if (result)
      scalars[result] = old;
    return;
  }
  SmallVector<Type> types;
  if (result)
    types.push_back(registerType(result.getType()));
  auto branch = scf::IfOp::create(b, loc, types, access.mask->scalar, /*withElseRegion=*/bool(result));
  OpBuilder::InsertionGuard guard(b);
  if (!result) {
    b.setInsertionPoint(branch.thenBlock()->getTerminator());
    step();
    return;
  }
  Value none = zero(types.front());
  none.getDefiningOp()->moveBefore(branch);
  b.setInsertionPointToEnd(branch.thenBlock());
  scf::YieldOp::create(b, loc, ValueRange{step()});
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, loc, ValueRange{none});
  scalars[result] = branch.getResult(0);
}

// Elements one after the other; the values that were read go to the result's buffer if it has a use.
void HostEmitter::emitAtomicTile(Operation *op, Value pointer, std::array<Value, 2> given, Value mask) {
  auto tile = cast<RankedTensorType>(pointer.getType());
  TileBuffer *olds = nullptr;
  if (op->getNumResults() && !op->getResult(0).use_empty())
    olds = allocateFor(op->getResults())[0];
  Type type = registerType(elementTypeOf(valueTypeOf(tile)));
  LaneMap lanes = chooseLanes(tile.getShape(), plan.preferredDim(given[0] ? given[0] : pointer, pointer), maxLanes());
  iterate(tile.getShape(), lanes, [&](TileIndex index) {
    Access access = accessAt(op, pointer, mask, index);
    Value addresses = toLanes(access.address), active;
    std::array<Value, 2> values;
    for (auto [value, from] : llvm::zip(values, given))
      if (from)
        value = toLanes(evaluate(from, index));
    active = access.mask ? toLanes(*access.mask) : constantLike(b.getI1Type(), -1, addresses);
    auto vector = dyn_cast<VectorType>(addresses.getType());
    Type whole = vector ? Type(vector.clone(type)) : type;
    auto spilled = [&](Value value) { return vector && value ? spill(value) : Value(); };
    Value addressMemory = spilled(addresses);
    std::array<Value, 2> memory = {spilled(values[0]), spilled(values[1])};
    Value oldMemory = olds ? spill(zero(whole)) : Value();
    forActiveLanes(active, [&](Value lane) {
      auto at = [&](Value from, Value value) {
        return vector && value ? spilledLane(from, getElementTypeOrSelf(value.getType()), lane) : value;
      };
      Value old = atomicStep(op, at(addressMemory, addresses), at(memory[0], values[0]), at(memory[1], values[1]));
      if (olds)
        storeTo(gep(oldMemory, type, lane), old);
    });
    if (olds)
      writeBuffer(*olds, index, LaneValue::general(loadFrom(oldMemory, whole)));
  });
}
