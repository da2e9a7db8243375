// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Atomic updates, and what else has an effect: done once for each element, by its owner. Neighbouring registers that
// are neighbours in memory, under one mask, are updated together where the chip can.
#include "compiler/lowering/simt/Exchanges.h"
#include "compiler/lowering/simt/ThreadEmitter.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

ThreadEmitter::Values ThreadEmitter::once(Type tile, Type result, llvm::function_ref<Values(int64_t)> body,
                                          const Values &masks, int64_t together) {
  bool isTile = isa<RankedTensorType>(tile);
  LinearLayout layout = isTile ? layoutOf(tile) : LinearLayout();
  Value owner = isOwner(layout);
  SmallVector<Type> types(size_t(together), threadType(result));
  Values results, nothing(size_t(together), zeroOf(types.front()));
  for (int64_t reg = 0; reg < registersOf(tile); reg += together) {
    if (int64_t copy = isTile ? firstCopy(layout, reg) : reg; copy != reg) {
      for (int64_t i = 0; i < together; ++i)
        results.push_back(results[size_t(copy + i)]);
      continue;
    }
    Value bit = both(owner, masks.empty() ? Value() : masks[size_t(reg)]);
    llvm::append_range(results, when(bit, types, [&] { return body(reg); }, nothing));
  }
  return results;
}

bool ThreadEmitter::isMissingExchange(Operation *op, Type accessed) {
  return !divergent && block().copies(accessed) && !isForExchange(op) && needsPass(op, "lower-exchanges");
}

bool ThreadEmitter::updatesPairs(GlobalUpdateOp op) {
  Type element = threadType(elementTypeOf(op.getValue().getType()));
  return target.updatesPairs(op.getKind(), element, op.getScope()) && op.getElements() > 1;
}

ThreadEmitter::Values ThreadEmitter::updateAt(GlobalUpdateOp op, MemSemantic semantic, int64_t reg) {
  auto at = size_t(reg);
  Value pointer = of(op.getPointer())[at];
  const Values &values = of(op.getValue());
  RMWOp kind = op.getKind();
  if (!updatesPairs(op))
    return {target.atomicUpdate(b, kind, pointer, values[at], semantic, op.getScope())};
  ValueRange pair = ArrayRef<Value>(values).slice(at, 2);
  return target.atomicUpdatePair(b, kind, pointer, pair, semantic, op.getScope());
}

ThreadEmitter::Values ThreadEmitter::swapAt(AtomicCASOp op, MemSemantic semantic, int64_t reg) {
  auto at = size_t(reg);
  Type element = elementTypeOf(op.getType());
  Value expected = toMemory(of(op.getCmp())[at], element), value = toMemory(of(op.getVal())[at], element);
  Value old = target.compareAndSwap(b, of(op.getPtr())[at], expected, value, semantic, op.getScope());
  return {fromMemory(old, element)};
}

ThreadEmitter::Values ThreadEmitter::loadAt(AtomicLoadOp op, MemSemantic semantic, int64_t reg) {
  Type element = elementTypeOf(op.getType());
  auto stored = cast<IntegerType>(memoryType(element));
  return {fromMemory(target.atomicLoad(b, stored, of(op.getPtr())[size_t(reg)], semantic, op.getScope()), element)};
}

// Where fences give updates their order, one before all elements of a thread and one after them are enough: nothing is
// said of the order among elements.
void ThreadEmitter::emitAtomic(Operation *op) {
  auto update = dyn_cast<GlobalUpdateOp>(op);
  auto swap = dyn_cast<AtomicCASOp>(op);
  auto load = dyn_cast<AtomicLoadOp>(op);
  Type tile = op->getOperand(0).getType();
  Type element = elementTypeOf(update ? update.getValue().getType() : op->getResult(0).getType());
  MemSemantic semantic = update ? update.getSem() : swap ? swap.getSem() : load.getSem();
  MemScope scope = update ? update.getScope() : swap ? swap.getScope() : load.getScope();
  Value mask = update ? update.getMask() : load ? load.getMask() : Value();
  Values masks = mask ? of(mask) : Values();
  int64_t together = update && updatesPairs(update) ? 2 : 1;
  bool fencesAll = target.ordersByFences() && registersOf(tile) > 1;
  if (fencesAll)
    target.fenceBefore(b, semantic, scope);
  MemSemantic each = fencesAll ? MemSemantic::Relaxed : semantic;
  auto access = [&](int64_t reg) {
    return update ? updateAt(update, each, reg) : swap ? swapAt(swap, each, reg) : loadAt(load, each, reg);
  };
  if (isMissingExchange(op, tile))
    return;
  Values old = once(tile, element, access, masks, together);
  if (op->getNumResults())
    emitted[op->getResult(0)] = old;
  if (fencesAll)
    target.fenceAfter(b, semantic, scope);
}

void ThreadEmitter::emitAtomicStore(AtomicStoreOp op) {
  Type tile = op.getPtr().getType(), element = elementTypeOf(op.getValue().getType());
  bool isTile = isa<RankedTensorType>(tile);
  LinearLayout layout = isTile ? layoutOf(tile) : LinearLayout();
  Value owner = isOwner(layout);
  Values masks = op.getMask() ? of(op.getMask()) : Values();
  bool fencesAll = target.ordersByFences() && registersOf(tile) > 1;
  if (fencesAll)
    target.fenceBefore(b, op.getSem(), op.getScope());
  for (int64_t reg = 0; reg < registersOf(tile); ++reg) {
    if (isTile && firstCopy(layout, reg) != reg)
      continue;
    auto store = [&]() -> Values {
      Value value = toMemory(of(op.getValue())[size_t(reg)], element), pointer = of(op.getPtr())[size_t(reg)];
      target.atomicStore(b, value, pointer, fencesAll ? MemSemantic::Relaxed : op.getSem(), op.getScope());
      return {};
    };
    when(both(owner, masks.empty() ? Value() : masks[size_t(reg)]), {}, store, {});
  }
}
