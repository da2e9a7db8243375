// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Access widths from axis facts, and the slices by which accesses agree on one.
#include "compiler/analysis/Access.h"
#include "compiler/analysis/AxisRules.h"
#include "compiler/dialects/triton/Triton.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include <numeric>

using namespace mlir;
using namespace heddle;
using namespace heddle::analysis;

namespace {
constexpr int64_t widestAccessBits = 128;

/// The pointers, the mask (may be null) and whether memory is written; no pointer if `op` does not access through one.
struct PointerAccess {
  Value pointer, mask;
  bool writes = false;
};

PointerAccess pointerAccessOf(Operation *op) {
  PointerAccess access;
  if (auto load = dyn_cast<triton::LoadOp>(op))
    access = {load.getPtr(), load.getMask(), false};
  else if (auto store = dyn_cast<triton::StoreOp>(op))
    access = {store.getPtr(), store.getMask(), true};
  else if (auto atomic = dyn_cast<triton::AtomicRMWOp>(op))
    access = {atomic.getPtr(), atomic.getMask(), true};
  else if (auto atomic = dyn_cast<triton::AtomicCASOp>(op))
    access = {atomic.getPtr(), Value(), true};
  else if (auto load = dyn_cast<triton::AtomicLoadOp>(op))
    access = {load.getPtr(), load.getMask(), false};
  else if (auto store = dyn_cast<triton::AtomicStoreOp>(op))
    access = {store.getPtr(), store.getMask(), true};
  else if (auto poll = dyn_cast<triton::AtomicPollOp>(op))
    access = {poll.getPtr(), Value(), false};
  auto tile = access.pointer ? dyn_cast<RankedTensorType>(access.pointer.getType()) : RankedTensorType();
  return tile && tile.getRank() ? access : PointerAccess();
}

/// The tile that a descriptor access moves.
RankedTensorType descriptorTileOf(Operation *op) {
  Value tile;
  if (auto load = dyn_cast<triton::DescriptorLoadOp>(op))
    tile = load.getResult();
  else if (auto store = dyn_cast<triton::DescriptorStoreOp>(op))
    tile = store.getSrc();
  else if (auto reduce = dyn_cast<triton::DescriptorReduceOp>(op))
    tile = reduce.getSrc();
  return tile ? cast<RankedTensorType>(tile.getType()) : RankedTensorType();
}

int64_t pointeeBits(Value pointer) {
  auto type = cast<triton::PointerType>(getElementTypeOrSelf(pointer.getType()));
  return std::max<int64_t>(8, triton::elementBits(type.getPointeeType()));
}

/// Elements a thread may take on its own along the fastest axis. Those that a mask may tell apart are accessed one by
/// one, and then contiguous elements are for the threads beside it: a warp's access covers whole lines.
int64_t widthOf(const AxisAnalysis &facts, const PointerAccess &access, const Order &order) {
  int64_t bits = std::max<int64_t>(1, widestAccessBits / pointeeBits(access.pointer));
  return std::min(bits, alignedElements(facts, access.pointer, access.mask, order));
}

/// Tiles that are computed from each other. What is free to compute again (constants, ranges, splats) ties nothing.
class Slices {
public:
  explicit Slices(Operation *root) {
    root->walk([&](Operation *op) { tie(op); });
  }
  /// The same number for tied values.
  int of(Value value) {
    auto [place, isNew] =
        numbers.try_emplace(values.getOrInsertLeaderValue(value.getAsOpaquePointer()), numbers.size());
    return place->second;
  }

private:
  static bool isTile(Value value) { return isa<RankedTensorType>(value.getType()); }
  static bool isFree(Operation *op) { return isa<arith::ConstantOp, triton::MakeRangeOp, triton::SplatOp>(op); }

  void tieTo(Value &first, Value value) {
    if (!isTile(value) || (value.getDefiningOp() && isFree(value.getDefiningOp())))
      return;
    if (first)
      values.unionSets(first.getAsOpaquePointer(), value.getAsOpaquePointer());
    else
      first = value;
  }

  void tiePairs(ValueRange left, ValueRange right) {
    for (auto [first, second] : llvm::zip(left, right)) {
      Value known;
      tieTo(known, first);
      tieTo(known, second);
    }
  }

  void tie(Operation *op) {
    if (auto branch = dyn_cast<BranchOpInterface>(op)) {
      for (unsigned i = 0; i < op->getNumSuccessors(); ++i) {
        SuccessorOperands passed = branch.getSuccessorOperands(i);
        tiePairs(passed.getForwardedOperands(),
                 op->getSuccessor(i)->getArguments().drop_front(passed.getProducedOperandCount()));
      }
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      tiePairs(loop.getInitArgs(), loop.getRegionIterArgs());
      tiePairs(loop.getYieldedValues(), loop.getRegionIterArgs());
      tiePairs(loop.getResults(), loop.getRegionIterArgs());
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      tiePairs(loop.getInits(), loop.getBeforeArguments());
      tiePairs(loop.getYieldOp().getOperands(), loop.getBeforeArguments());
      tiePairs(loop.getConditionOp().getArgs(), loop.getAfterArguments());
      tiePairs(loop.getConditionOp().getArgs(), loop.getResults());
    } else if (auto choice = dyn_cast<scf::IfOp>(op); choice && choice.getNumResults()) {
      tiePairs(choice.thenYield().getOperands(), choice.getResults());
      tiePairs(choice.elseYield().getOperands(), choice.getResults());
    } else if (!op->hasTrait<OpTrait::IsTerminator>() && !isFree(op)) {
      Value first;
      for (Value value :
           llvm::concat<Value>(SmallVector<Value>(op->getOperands()), SmallVector<Value>(op->getResults())))
        tieTo(first, value);
    }
  }

  llvm::EquivalenceClasses<void *> values;
  llvm::DenseMap<void *, int> numbers;
};
} // namespace

int64_t analysis::alignedElements(const AxisAnalysis &facts, Value pointer, Value mask, const Order &order) {
  if (order.empty() || !isa<ShapedType>(pointer.getType()))
    return 1;
  const AxisInfo &info = facts.of(pointer);
  const Axis &axis = info.axes[order[0]];
  int64_t elements = std::min(axis.contiguity, std::max<int64_t>(1, axis.divisibility / info.step));
  if (mask && isa<ShapedType>(mask.getType()))
    elements = std::min(elements, facts.of(mask).axes[order[0]].constancy);
  return elements;
}

Order analysis::accessOrder(const AxisAnalysis &facts, Value pointer) {
  const AxisInfo &info = facts.of(pointer);
  Order order(info.rank());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](int left, int right) {
    int64_t length = info.axes[left].contiguity, other = info.axes[right].contiguity;
    return length != other ? length > other : left > right;
  });
  return order;
}

AccessAnalysis::AccessAnalysis(Operation *root, const AxisAnalysis &facts) {
  std::optional<Slices> slices; // most of the work; a kernel without tiles of pointers needs none
  root->walk([&](Operation *op) {
    PointerAccess access = pointerAccessOf(op);
    if (!access.pointer)
      return;
    if (!slices)
      slices.emplace(root);
    Order order = accessOrder(facts, access.pointer);
    int64_t width = widthOf(facts, access, order);
    accesses.insert({op, {slices->of(access.pointer), std::move(order), width}});
  });
}

AccessLayout AccessAnalysis::chooseAccess(Operation *op, int64_t numThreads) const {
  AccessLayout layout;
  int64_t perThread = 1;
  ArrayRef<int64_t> shape;
  if (RankedTensorType tile = descriptorTileOf(op)) {
    shape = tile.getShape();
    layout.order.resize(shape.size());
    std::iota(layout.order.rbegin(), layout.order.rend(), 0);
    perThread = std::max<int64_t>(1, widestAccessBits / std::max(8u, triton::elementBits(tile.getElementType())));
  } else if (auto found = accesses.find(op); found != accesses.end()) {
    const Access &own = found->second;
    PointerAccess access = pointerAccessOf(op);
    shape = shapeOf(access.pointer.getType());
    layout.order = own.order;
    perThread = own.perThread;
    for (const auto &[other, known] : accesses)
      if (!access.writes && known.slice == own.slice && known.order == own.order &&
          shapeOf(pointerAccessOf(other).pointer.getType()) == shape)
        perThread = std::max(perThread, known.perThread);
  } else {
    return layout;
  }
  int64_t elements = std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
  int64_t fastest = shape[layout.order[0]];
  layout.sizePerThread.assign(shape.size(), 1);
  layout.sizePerThread[layout.order[0]] =
      std::min({perThread, std::max<int64_t>(1, llvm::bit_floor(uint64_t(elements / numThreads))), fastest});
  return layout;
}
