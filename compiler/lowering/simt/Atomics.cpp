// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Atomic updates, and what else has an effect: done once for each element, by its owner. Neighbouring registers that
// are neighbours in memory, under one mask, are updated together where the chip can.
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

ThreadEmitter::Values ThreadEmitter::updateAll(AtomicRMWOp op, MemSemantic semantic) {
  Type tile = op.getPtr().getType(), element = elementTypeOf(op.getType());
  const Values &pointers = of(op.getPtr()), &values = of(op.getVal());
  Values masks = op.getMask() ? of(op.getMask()) : Values();
  RMWOp kind = op.getAtomicRmwOp();
  bool inPairs = target.updatesPairs(kind, threadType(element), op.getScope()) && vectorWidth(op, tile) > 1;
  auto update = [&](int64_t reg) -> Values {
    auto at = size_t(reg);
    if (!inPairs)
      return {target.atomicUpdate(b, kind, pointers[at], values[at], semantic, op.getScope())};
    ValueRange pair = ArrayRef<Value>(values).slice(at, 2);
    return target.atomicUpdatePair(b, kind, pointers[at], pair, semantic, op.getScope());
  };
  return once(tile, element, update, masks, inPairs ? 2 : 1);
}

ThreadEmitter::Values ThreadEmitter::swapAll(AtomicCASOp op, MemSemantic semantic) {
  Type tile = op.getPtr().getType(), element = elementTypeOf(op.getType());
  const Values &pointers = of(op.getPtr()), &expected = of(op.getCmp()), &values = of(op.getVal());
  auto swap = [&](int64_t reg) -> Values {
    auto at = size_t(reg);
    Value old = target.compareAndSwap(b, pointers[at], toMemory(expected[at], element), toMemory(values[at], element),
                                      semantic, op.getScope());
    return {fromMemory(old, element)};
  };
  return once(tile, element, swap, {});
}

// Where fences give updates their order, one before all elements of a thread and one behind them are enough: nothing is
// said of the order among elements.
void ThreadEmitter::emitAtomic(Operation *op) {
  orderAccess(op);
  auto update = dyn_cast<AtomicRMWOp>(op);
  auto swap = dyn_cast<AtomicCASOp>(op);
  Value result = op->getResult(0);
  Type tile = op->getOperand(0).getType();
  MemSemantic semantic = update ? update.getSem() : swap.getSem();
  MemScope scope = update ? update.getScope() : swap.getScope();
  bool fencesAll = target.ordersByFences() && registersOf(tile) > 1;
  if (fencesAll)
    target.fenceBefore(b, semantic, scope);
  MemSemantic each = fencesAll ? MemSemantic::Relaxed : semantic;
  Values results = update ? updateAll(update, each) : swapAll(swap, each);
  if (fencesAll)
    target.fenceAfter(b, semantic, scope);
  if (!result.use_empty() && !divergent)
    results = broadcastFromOwners(results, tile, elementTypeOf(result.getType()));
  emitted[result] = results;
}
