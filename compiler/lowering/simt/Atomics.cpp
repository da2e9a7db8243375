// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Atomic updates, and what else has an effect: done once for each element, by its owner. Consecutive registers that
// are consecutive in memory, under one mask, are updated together where the chip can.
#include "compiler/lowering/simt/ThreadCode.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

namespace {
class Atomics : public ThreadCode {
public:
  using ThreadCode::ThreadCode;
  void lower(GlobalUpdateOp) { update(); }
  void lower(GlobalSwapOp) { update(); }
  void lower(GlobalAtomicLoadOp) { update(); }
  void lower(GlobalAtomicStoreOp op);
  void lower(BufferUpdateOp op);

private:
  void update();
  /// The elements of registers from `reg` on that are updated together; old values.
  Values updateAt(GlobalUpdateOp op, MemSemantic semantic, int64_t reg, int64_t together);
  Values swapAt(GlobalSwapOp op, MemSemantic semantic, int64_t reg);
  Values loadAt(GlobalAtomicLoadOp op, MemSemantic semantic, int64_t reg);
  int64_t updatedTogether(GlobalUpdateOp op);
};
} // namespace

int64_t Atomics::updatedTogether(GlobalUpdateOp op) {
  Type tile = op.getValue().getType(), element = threadType(elementTypeOf(tile));
  int64_t most = target.mostUpdatedTogether(op.getKind(), element, op.getScope());
  AccessWidth width{int(op.getAxis()), int64_t(op.getElements())};
  return most > 1 && isa<RankedTensorType>(tile) ? contiguousRegisters(layoutOf(tile), width, most) : 1;
}

ThreadCode::Values Atomics::updateAt(GlobalUpdateOp op, MemSemantic semantic, int64_t reg, int64_t together) {
  auto at = size_t(reg);
  Value pointer = of(op.getPointer())[at];
  const Values &values = of(op.getValue());
  RMWOp kind = op.getKind();
  if (together == 1)
    return {target.atomicUpdate(b, kind, pointer, values[at], semantic, op.getScope())};
  ValueRange neighbours = ArrayRef<Value>(values).slice(at, size_t(together));
  return target.atomicUpdateTogether(b, kind, pointer, neighbours, semantic, op.getScope());
}

ThreadCode::Values Atomics::swapAt(GlobalSwapOp op, MemSemantic semantic, int64_t reg) {
  auto at = size_t(reg);
  Type element = elementTypeOf(op.getValue().getType());
  Value expected = toMemory(of(op.getExpected())[at], element), value = toMemory(of(op.getValue())[at], element);
  Value old = target.compareAndSwap(b, of(op.getPointer())[at], expected, value, semantic, op.getScope());
  return {fromMemory(old, element)};
}

ThreadCode::Values Atomics::loadAt(GlobalAtomicLoadOp op, MemSemantic semantic, int64_t reg) {
  Type element = elementTypeOf(op.getType());
  auto stored = cast<IntegerType>(memoryType(element));
  return {fromMemory(target.atomicLoad(b, stored, of(op.getPointer())[size_t(reg)], semantic, op.getScope()), element)};
}

// Where fences give updates their order, one before all elements of a thread and one after them are enough: nothing is
// said of the order among elements.
void Atomics::update() {
  auto update = dyn_cast<GlobalUpdateOp>(op);
  auto swap = dyn_cast<GlobalSwapOp>(op);
  auto load = dyn_cast<GlobalAtomicLoadOp>(op);
  Type tile = op->getOperand(0).getType();
  Type element = elementTypeOf(update ? update.getValue().getType()
                               : swap ? swap.getValue().getType()
                                      : load.getType());
  MemSemantic semantic = update ? update.getSem() : swap ? swap.getSem() : load.getSem();
  MemScope scope = update ? update.getScope() : swap ? swap.getScope() : load.getScope();
  Value mask = update ? update.getMask() : swap ? swap.getMask() : load.getMask();
  Values masks = mask ? of(mask) : Values();
  int64_t together = update ? updatedTogether(update) : 1;
  bool fencesAll = target.ordersTilesByFences() && registersOf(tile) > together;
  if (fencesAll)
    target.fenceBefore(b, semantic, scope);
  MemSemantic each = fencesAll ? MemSemantic::Relaxed : semantic;
  auto access = [&](int64_t reg) {
    return update ? updateAt(update, each, reg, together) : swap ? swapAt(swap, each, reg) : loadAt(load, each, reg);
  };
  if (isMissingExchange(tile))
    return;
  Values old = once(tile, element, access, masks, together);
  if (op->getNumResults())
    made[op->getResult(0)] = old;
  if (fencesAll)
    target.fenceAfter(b, semantic, scope);
}

void Atomics::lower(GlobalAtomicStoreOp op) {
  Type tile = op.getPointer().getType(), element = elementTypeOf(op.getValue().getType());
  bool isTile = isa<RankedTensorType>(tile);
  LinearLayout layout = isTile ? layoutOf(tile) : LinearLayout();
  Value owner = isOwner(layout);
  Values masks = op.getMask() ? of(op.getMask()) : Values();
  bool fencesAll = target.ordersTilesByFences() && registersOf(tile) > 1;
  if (fencesAll)
    target.fenceBefore(b, op.getSem(), op.getScope());
  for (int64_t reg = 0; reg < registersOf(tile); ++reg) {
    if (isTile && firstCopy(layout, reg) != reg)
      continue;
    auto store = [&] {
      Value value = toMemory(of(op.getValue())[size_t(reg)], element), pointer = of(op.getPointer())[size_t(reg)];
      target.atomicStore(b, value, pointer, fencesAll ? MemSemantic::Relaxed : op.getSem(), op.getScope());
    };
    when(both(owner, masks.empty() ? Value() : masks[size_t(reg)]), store);
  }
}

// The mask is the buffer's matter: no update needs a branch.
void Atomics::lower(BufferUpdateOp op) {
  Type tile = op.getValue().getType(), element = elementTypeOf(tile);
  if (!target.updatesBuffers(op.getKind(), threadType(element), op.getScope()))
    return refuse("the chip has no buffer instruction for it; `simt.atomic_rmw` takes pointers");
  if (isMissingExchange(tile))
    return;
  const LinearLayout &layout = layoutOf(tile);
  const Values &offsets = of(op.getOffsets()), &values = of(op.getValue());
  Values masks = op.getMask() ? of(op.getMask()) : Values(), old;
  Value owner = isOwner(layout);
  target.fenceBefore(b, op.getSem(), op.getScope());
  for (int64_t reg = 0; reg < registersOf(tile); ++reg) {
    auto at = size_t(reg);
    if (int64_t copy = firstCopy(layout, reg); copy != reg) {
      old.push_back(old[size_t(copy)]);
      continue;
    }
    Value offset = arith::MulIOp::create(b, offsets[at], i32(memoryBits(element) / 8));
    GpuTarget::BufferPlace place{scalar(op.getPointer()), offset, both(owner, masks.empty() ? Value() : masks[at])};
    old.push_back(target.bufferUpdate(b, op.getKind(), values[at], place));
  }
  target.fenceAfter(b, op.getSem(), op.getScope());
  if (op.getResult())
    made[op.getResult()] = old;
}

void simt::addAtomics(RewritePatternSet &patterns, ThreadState &state) {
  addFamily<Atomics, GlobalUpdateOp, BufferUpdateOp, GlobalSwapOp, GlobalAtomicLoadOp, GlobalAtomicStoreOp>(patterns,
                                                                                                            state);
}
