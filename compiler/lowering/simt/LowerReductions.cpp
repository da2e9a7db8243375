// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions and scans along axes that several warps share: each warp's part, an exchange that gives every thread the
// parts of all warps, and what each thread makes of them.
#include "compiler/analysis/Uniformity.h"
#include "compiler/layout/Axes.h"
#include "compiler/lowering/simt/Exchanges.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::Dim;
using layout::LinearLayout;
using layout::tileDim;

int simt::lanesThatShare(const LinearLayout &layout, int axis, bool staysShared) {
  auto elements = size_t(layout::leaveWarps(layout, axis).inputSize(Dim::Register));
  size_t bits = layout::bitsAlong(layout, Dim::Lane, axis).size();
  size_t best = 0, least = std::numeric_limits<size_t>::max();
  for (size_t times = 0; times <= bits && elements >> times; ++times) {
    size_t left = elements >> times;
    // Who shares chooses what to keep and what to give away; any step shuffles and combines what is left.
    size_t cost = 4 * (elements - left) + 2 * left * (bits - times) + (times && !staysShared ? elements : 0);
    if (cost < least)
      best = times, least = cost;
  }
  return int(best);
}

namespace {

class ReductionLowering {
public:
  ReductionLowering(Operation *op, BlockShape block) : b(op->getLoc(), op), block(block) {}
  void lower(TileReduceOp op);
  void lower(TileScanOp op);

private:
  static SmallVector<Type> typesOf(ValueRange tiles, const LinearLayout &layout);
  SmallVector<Value> holdParts(ValueRange totals, const LinearLayout &layout, int axis);
  Value makeParts(RankedTensorType type, int axis);

  ImplicitLocOpBuilder b;
  BlockShape block;
};

} // namespace

/// Tiles of the elements of `tiles` with this layout and its shape.
SmallVector<Type> ReductionLowering::typesOf(ValueRange tiles, const LinearLayout &layout) {
  SmallVector<int64_t> shape;
  for (const LinearLayout::Output &out : layout.outputs())
    shape.push_back(out.size);
  SmallVector<Type> types;
  for (Value tile : tiles)
    types.push_back(withLayout(RankedTensorType::get(shape, elementTypeOf(tile.getType())), layout));
  return types;
}

/// Memory for the parts of all warps: those of one element are contiguous, so that one access reads them.
Value ReductionLowering::makeParts(RankedTensorType type, int axis) {
  ArrayRef<int64_t> shape = type.getShape();
  LinearLayout::Input offsets{Dim::Offset, {}};
  auto count = [&](int each) {
    for (int64_t step = 1; step < shape[size_t(each)]; step *= 2)
      offsets.bases.emplace_back(shape.size(), 0)[size_t(each)] = step;
  };
  count(axis);
  for (int each = int(shape.size()); each-- > 0;)
    if (each != axis)
      count(each);
  return makeScratch(b, shape, type.getElementType(), LinearLayout({offsets}, layoutOf(type).outputs()));
}

/// The parts of all warps in each thread.
SmallVector<Value> ReductionLowering::holdParts(ValueRange totals, const LinearLayout &layout, int axis) {
  SmallVector<Value> memories, held;
  for (Value each : totals) {
    memories.push_back(makeParts(cast<RankedTensorType>(each.getType()), axis));
    StoreSharedOp::create(b, each, memories.back(), Value());
  }
  for (auto [each, memory] : llvm::zip(totals, memories)) {
    auto type = cast<RankedTensorType>(each.getType());
    LinearLayout all = layout::holdAlong(layout, axis, type.getDimSize(axis));
    held.push_back(LoadSharedOp::create(b, withLayout(type, all), memory, Value(), Value()));
  }
  return held;
}

void ReductionLowering::lower(TileReduceOp op) {
  auto axis = int(op.getAxis());
  const LinearLayout &layout = layoutOf(op.getSources()[0].getType());
  LinearLayout left = layout::leaveWarps(layout, axis, lanesThatShare(layout, axis, /*staysShared=*/true));
  auto warps = ReduceWarpsOp::create(b, typesOf(op.getSources(), left), op.getSources(), uint64_t(axis));
  IRMapping mapping;
  op.getCombine().cloneInto(&warps.getCombine(), mapping);
  Type result = op.getTotals()[0].getType();
  LinearLayout held = isa<RankedTensorType>(result) ? layout::expandAxis(layoutOf(result), axis)
                                                    : LinearLayout::zeros1D(1, Dim::Register, Dim::Dim0) *
                                                          LinearLayout::zeros1D(block.lanes, Dim::Lane, Dim::Dim0) *
                                                          LinearLayout::zeros1D(block.warps, Dim::Warp, Dim::Dim0);
  op->setOperands(holdParts(warps.getTotals(), held, axis));
}

void ReductionLowering::lower(TileScanOp op) {
  auto axis = int(op.getAxis());
  const LinearLayout &layout = layoutOf(op.getSources()[0].getType());
  LinearLayout left = layout::leaveWarps(layout, axis);
  bool hasLanes = !layout::bitsAlong(layout, Dim::Lane, axis).empty();
  ValueRange sources = op.getSources();
  SmallVector<Type> before = hasLanes ? typesOf(sources, layout::leaveThreads(layout, axis)) : SmallVector<Type>();
  auto warps = ScanWarpsOp::create(b, llvm::to_vector(op.getResultTypes()), before, typesOf(sources, left), sources,
                                   uint64_t(axis), op.getReverse());
  IRMapping mapping;
  op.getCombine().cloneInto(&warps.getCombine(), mapping);
  SmallVector<Value> totals = holdParts(warps.getTotals(), left, axis);
  auto joined = JoinScanOp::create(b, llvm::to_vector(op.getResultTypes()), warps.getScanned(), warps.getBefore(),
                                   totals, uint64_t(axis), op.getReverse());
  joined.getCombine().takeBody(op.getCombine());
  op->replaceAllUsesWith(joined.getResult());
  op->erase();
}

void simt::lowerReductions(ModuleOp module, BlockShape whole) {
  for (auto function : module.getOps<FuncOp>()) {
    BlockShape block = whole.of(function);
    analysis::LazyUniformity uniformity(function);
    SmallVector<Operation *> found;
    function.walk([&](Operation *op) {
      auto reduce = dyn_cast<TileReduceOp>(op);
      auto scan = dyn_cast<TileScanOp>(op);
      if ((!reduce && !scan) || uniformity.isDivergent(op->getBlock()) || analysis::isAny(op))
        return;
      int axis = int(reduce ? reduce.getAxis() : scan.getAxis());
      const LinearLayout &layout = layoutOf(op->getOperand(0).getType());
      if (!layout::bitsAlong(layout, Dim::Warp, axis).empty())
        found.push_back(op);
    });
    for (Operation *op : found)
      if (auto reduce = dyn_cast<TileReduceOp>(op))
        ReductionLowering(op, block).lower(reduce);
      else
        ReductionLowering(op, block).lower(cast<TileScanOp>(op));
  }
}
