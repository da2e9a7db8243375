// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Global memory. Contiguous registers that are contiguous in memory travel in one access of up to 16 bytes. A load that
// its mask forbids reads zeros from memory of ours, so that loads need no branch.
#include "compiler/lowering/simt/ThreadCode.h"
#include "compiler/lowering/simt/Vectors.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;

namespace {
class GlobalMemory : public ThreadCode {
public:
  using ThreadCode::ThreadCode;
  void lower(GlobalLoadOp op);
  void lower(GlobalStoreOp op);

private:
  Values loadRegisters(GlobalLoadOp op, bool atomically); ///< in this thread
};
} // namespace

ThreadCode::Values GlobalMemory::loadRegisters(GlobalLoadOp op, bool atomically) {
  Type element = elementTypeOf(op.getType()), stored = memoryType(element);
  int64_t bits = stored.getIntOrFloatBitWidth(), width = int64_t(op.getElements());
  const Values &pointers = of(op.getPointer());
  Values masks = op.getMask() ? of(op.getMask()) : Values(), others = op.getOther() ? of(op.getOther()) : Values();
  bool isTile = isa<RankedTensorType>(op.getType());
  Values results(pointers.size());
  for (size_t first = 0; first < pointers.size(); first += size_t(width)) {
    if (auto copy = isTile ? size_t(firstCopy(layoutOf(op.getType()), int64_t(first))) : first; copy != first) {
      for (size_t i = 0; i < size_t(width); ++i)
        results[first + i] = results[copy + i];
      continue;
    }
    Value pointer = pointers[first], mask = masks.empty() ? Value() : masks[first];
    bool always = !mask || matchPattern(mask, m_One());
    if (!always)
      pointer = arith::SelectOp::create(b, mask, pointer, zeroMemory());
    int64_t total = bits * width;
    Type whole = total > 64   ? Type(VectorType::get(total / 32, b.getI32Type()))
                 : total > 32 ? Type(width > 1 ? Type(VectorType::get(2, b.getI32Type())) : b.getI64Type())
                              : Type(b.getIntegerType(unsigned(total)));
    auto loaded = LLVM::LoadOp::create(b, whole, pointer, unsigned(total / 8), op.getIsVolatile(),
                                       /*isNonTemporal=*/false, /*isInvariant=*/op.getIsInvariant());
    if (atomically && width == 1 && !op.getIsVolatile()) { // what others write by atomics at the same time
      loaded.setOrdering(LLVM::AtomicOrdering::monotonic);
      loaded.setSyncscope(target.deviceScope());
    }
    Values pieces;
    if (width == 1) {
      pieces = {loaded.getResult()};
    } else {
      Value vector = LLVM::BitcastOp::create(b, VectorType::get(width, stored), loaded);
      for (int64_t i = 0; i < width; ++i)
        pieces.push_back(LLVM::ExtractElementOp::create(b, vector, i32(i)));
    }
    for (auto [i, piece] : llvm::enumerate(pieces)) {
      Value value = fromMemory(piece, element);
      if (!always && !others.empty() && !isZero(others[first + i]))
        value = arith::SelectOp::create(b, masks[first + i], value, others[first + i]);
      results[first + i] = value;
    }
  }
  return results;
}

void GlobalMemory::lower(GlobalLoadOp op) {
  bool agree = facts.agreeing.contains(op), isByOwner = facts.byOwner.contains(op);
  if (agree && !isByOwner && isMissingExchange(op.getPointer().getType()))
    return;
  made[op.getResult()] =
      isByOwner ? inOwner(op.getType(), [&] { return loadRegisters(op, agree); }) : loadRegisters(op, agree);
}

void GlobalMemory::lower(GlobalStoreOp op) {
  Type element = elementTypeOf(op.getValue().getType()), stored = memoryType(element);
  int64_t bits = stored.getIntOrFloatBitWidth(), width = int64_t(op.getElements());
  const Values &pointers = of(op.getPointer()), &values = of(op.getValue());
  Values masks = op.getMask() ? of(op.getMask()) : Values();
  bool isTile = isa<RankedTensorType>(op.getPointer().getType());
  LinearLayout layout = isTile ? layoutOf(op.getPointer().getType()) : LinearLayout();
  Value owner = isOwner(layout);
  auto store = [&](size_t first) {
    Value whole;
    if (width == 1) {
      whole = toMemory(values[first], element);
    } else {
      Type vector = VectorType::get(width, stored);
      whole = LLVM::PoisonOp::create(b, vector);
      for (int64_t i = 0; i < width; ++i)
        whole = LLVM::InsertElementOp::create(b, whole, toMemory(values[first + size_t(i)], element), i32(i));
      int64_t total = bits * width;
      Type carrier =
          total > 32 ? Type(VectorType::get(total / 32, b.getI32Type())) : Type(b.getIntegerType(unsigned(total)));
      whole = LLVM::BitcastOp::create(b, carrier, whole);
    }
    LLVM::StoreOp::create(b, whole, pointers[first], unsigned(bits * width / 8));
  };
  SmallVector<size_t> firsts;
  for (size_t first = 0; first < pointers.size(); first += size_t(width))
    if (!isTile || size_t(firstCopy(layout, int64_t(first))) == first)
      firsts.push_back(first);
  auto maskOf = [&](size_t first) {
    return masks.empty() || matchPattern(masks[first], m_One()) ? Value() : masks[first];
  };
  // Neighbours under one mask share its branch.
  for (ArrayRef<size_t> rest = firsts; !rest.empty();) {
    Value mask = maskOf(rest.front());
    ArrayRef<size_t> run = rest.take_while([&](size_t first) { return maskOf(first) == mask; });
    when(both(owner, mask), [&] { llvm::for_each(run, store); });
    rest = rest.drop_front(run.size());
  }
}

void simt::addGlobalMemory(RewritePatternSet &patterns, ThreadState &state) {
  addFamily<GlobalMemory, GlobalLoadOp, GlobalStoreOp>(patterns, state);
}
