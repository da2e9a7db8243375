// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rules of reductions and scans, whole and in parts, of histograms and gathers, of matmuls from scratch memory and of
// prints.
#include "compiler/dialects/simt/Simt.h"
#include "compiler/layout/Axes.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using layout::Dim;
using layout::LinearLayout;

//===-- Reductions and scans -------------------------------------------------------------------------------------===//

namespace {
struct Combination {
  Operation *op;
  ValueRange tiles; ///< what is combined
  int64_t axis;
  Region &region;
};
} // namespace

static LogicalResult verifyCombination(const Combination &combination) {
  auto [op, tiles, axis, region] = combination;
  // Rule S47: tiles of one layout, and an axis that they have.
  auto first = tiles.empty() ? RankedTensorType() : cast<RankedTensorType>(tiles.front().getType());
  if (!first || !hasLayout(first) || axis < 0 || axis >= first.getRank())
    return op->emitOpError() << "combines " << tiles.size() << " tiles along axis " << axis << " of "
                             << (first ? Type(first) : Type(NoneType::get(op->getContext())))
                             << ": it takes tiles with layouts, one at least, and an axis that they have";
  for (Value tile : tiles)
    if (cast<RankedTensorType>(tile.getType()).clone(first.getElementType()) != first)
      return op->emitOpError() << "combines " << first << " and " << tile.getType()
                               << ": all have the shape and the layout of the first";
  // Rule S48: the region makes an element of each tile of two.
  Block &block = region.front();
  Operation *end = block.empty() ? nullptr : &block.back();
  bool fits = isa_and_nonnull<YieldOp>(end) && end->getNumOperands() == tiles.size() &&
              block.getNumArguments() == 2 * tiles.size();
  for (size_t i = 0; fits && i < tiles.size(); ++i) {
    Type element = triton::elementTypeOf(tiles[i].getType());
    fits = end->getOperand(unsigned(i)).getType() == element && block.getArgument(unsigned(i)).getType() == element &&
           block.getArgument(unsigned(i + tiles.size())).getType() == element;
  }
  if (!fits)
    return op->emitOpError() << "has a region that does not make " << tiles.size() << " elements of twice as many, and "
                             << "end by '" << YieldOp::getOperationName() << "'";
  // Rule S70: the region computes scalars: it is run for each pair of elements, in threads of its own choice.
  WalkResult found = region.walk([&](Operation *inner) {
    auto isTile = [](Type type) { return isa<RankedTensorType, SharedType>(type); };
    bool computes = (isMemoryEffectFree(inner) || isa<triton::ElementwiseInlineAsmOp, triton::AssertOp>(inner)) &&
                    (!isa<SimtDialect>(inner->getDialect()) || inner == end) &&
                    llvm::none_of(inner->getOperandTypes(), isTile) && llvm::none_of(inner->getResultTypes(), isTile);
    return computes ? WalkResult::advance()
                    : (inner->emitOpError() << "stands in the region of '" << op->getName()
                                            << "', which computes scalars and neither accesses memory nor exchanges",
                       WalkResult::interrupt());
  });
  return failure(found.wasInterrupted());
}

/// One of each element type of `tiles`, of this layout.
static bool areOfLayout(TypeRange types, ValueRange tiles, const LinearLayout &layout) {
  if (types.size() != tiles.size())
    return false;
  for (auto [type, tile] : llvm::zip(types, tiles)) {
    auto found = dyn_cast<RankedTensorType>(type);
    if (!found || !hasLayout(found) || !(layoutOf(found) == layout) ||
        found.getElementType() != triton::elementTypeOf(tile.getType()))
      return false;
  }
  return true;
}

LogicalResult TileReduceOp::verify() {
  if (failed(verifyCombination({*this, getSources(), int64_t(getAxis()), getCombine()})))
    return failure();
  auto axis = int(getAxis());
  auto tile = cast<RankedTensorType>(getSources()[0].getType());
  // Rule S62: what is left is a scalar of each element type, or a tile without the axis, whose layout follows.
  LinearLayout left = layout::slice(layoutOf(tile), axis);
  bool fits = getTotals().size() == getSources().size();
  for (size_t i = 0; fits && tile.getRank() == 1 && i < getTotals().size(); ++i)
    fits = getTotals()[i].getType() == triton::elementTypeOf(getSources()[i].getType());
  if (fits && tile.getRank() > 1)
    fits = areOfLayout(getTotals().getTypes(), getSources(), left);
  if (fits)
    return success();
  auto error = emitOpError() << "leaves " << getTotals().getTypes() << " of " << tile << " along axis " << axis;
  if (tile.getRank() == 1)
    return error << ": a scalar of each tile's element type is left";
  return error << ": a tile of each, without the axis, is left, in the layout " << LinearAttr::get(getContext(), left);
}

LogicalResult ReduceWarpsOp::verify() {
  Combination combination{*this, getSources(), int64_t(getAxis()), getCombine()};
  if (failed(verifyCombination(combination)))
    return failure();
  const LinearLayout &layout = layoutOf(getSources()[0].getType());
  // Rule S49: the totals lie as the warps leave them, with any share of the lanes.
  auto lanes = int(layout::bitsAlong(layout, Dim::Lane, int(getAxis())).size());
  LinearLayout left = layout::leaveWarps(layout, int(getAxis()));
  int most = std::min(lanes, left.inputBits(Dim::Register));
  for (int sharing = 0; sharing <= most; ++sharing)
    if (areOfLayout(getTotals().getTypes(), getSources(), layout::leaveWarps(layout, int(getAxis()), sharing)))
      return success();
  return emitOpError() << "leaves " << (getTotals().empty() ? "no tile" : "another layout") << " where its warps leave "
                       << LinearAttr::get(getContext(), left);
}

// Rule S50: positions along the axis count registers first, lanes next, warps last.
static LogicalResult verifyOrder(const Combination &scan) {
  Type tile = scan.tiles[0].getType();
  if (layout::isScanOrdered(layoutOf(tile), int(scan.axis)))
    return success();
  return scan.op->emitOpError() << "scans " << tile << ", whose elements do not count registers first, then lanes, "
                                << "then warps along axis " << scan.axis;
}

LogicalResult TileScanOp::verify() {
  Combination scan{*this, getSources(), int64_t(getAxis()), getCombine()};
  if (failed(verifyCombination(scan)) || failed(verifyOrder(scan)))
    return failure();
  // Rule S63: each element has its place in the result.
  if (getScanned().getTypes() != getSources().getTypes())
    return emitOpError() << "scans " << getSources().getTypes() << " into " << getScanned().getTypes();
  return success();
}

LogicalResult ScanWarpsOp::verify() {
  Combination scan{*this, getSources(), int64_t(getAxis()), getCombine()};
  if (failed(verifyCombination(scan)) || failed(verifyOrder(scan)))
    return failure();
  auto axis = int(getAxis());
  const LinearLayout &layout = layoutOf(getSources()[0].getType());
  // Rule S51: the results lie as threads and warps leave them.
  bool hasLanes = !layout::bitsAlong(layout, Dim::Lane, axis).empty();
  if (!areOfLayout(getScanned().getTypes(), getSources(), layout) ||
      !areOfLayout(getTotals().getTypes(), getSources(), layout::leaveWarps(layout, axis)) ||
      !areOfLayout(getBefore().getTypes(), hasLanes ? getSources() : ValueRange(), layout::leaveThreads(layout, axis)))
    return emitOpError() << "leaves other layouts than the scan of " << getSources()[0].getType() << " along axis "
                         << axis;
  return success();
}

LogicalResult JoinScanOp::verify() {
  if (failed(verifyCombination({*this, getScanned(), int64_t(getAxis()), getCombine()})))
    return failure();
  auto axis = int(getAxis());
  const LinearLayout &layout = layoutOf(getScanned()[0].getType());
  LinearLayout warps = layout::leaveWarps(layout, axis);
  LinearLayout held = layout::holdAlong(warps, axis, warps.outputSize(layout::tileDim(axis)));
  // Rule S52: what is joined is what a scan by warps leaves.
  bool hasLanes = !layout::bitsAlong(layout, Dim::Lane, axis).empty();
  if (!layout::isScanOrdered(layout, axis) || !areOfLayout(getTotals().getTypes(), getScanned(), held) ||
      !areOfLayout(getBefore().getTypes(), hasLanes ? getScanned() : OperandRange(getScanned().take_front(0)),
                   layout::leaveThreads(layout, axis)) ||
      getResult().getTypes() != getScanned().getTypes())
    return emitOpError() << "joins other layouts than the scan of " << getScanned()[0].getType() << " along axis "
                         << axis << " leaves";
  return success();
}

//===-- Histograms and gathers -----------------------------------------------------------------------------------===//

LogicalResult TileHistogramOp::verify() {
  auto source = cast<RankedTensorType>(getSource().getType()), counts = cast<RankedTensorType>(getType());
  // Rule S64: of tiles with one dimension and a layout, and a mask that is as the source.
  if (source.getRank() != 1 || counts.getRank() != 1 || !hasLayout(source) || !hasLayout(counts))
    return emitOpError() << "counts " << source << " into " << counts << ": both have one dimension and a layout";
  if (getMask() && getMask().getType() != triton::maskTypeOf(source))
    return emitOpError() << "counts " << source << " under a mask of " << getMask().getType();
  return success();
}

LogicalResult TileGatherOp::verify() {
  auto source = cast<RankedTensorType>(getSource().getType()), indices = cast<RankedTensorType>(getIndices().getType());
  auto axis = int64_t(getAxis()), rank = source.getRank();
  // Rule S65: an index for each element, along an axis that the tile has; the other sizes are the tile's.
  bool fits = hasLayout(source) && hasLayout(indices) && indices.getRank() == rank && axis >= 0 && axis < rank;
  for (int64_t each = 0; fits && each < rank; ++each)
    fits = each == axis || indices.getDimSize(each) == source.getDimSize(each);
  if (!fits || getType() != indices.clone(source.getElementType()))
    return emitOpError() << "takes " << getType() << " at indices " << indices << " along axis " << axis << " of "
                         << source
                         << ": indices and result have the source's shape but along that axis, and one layout";
  return success();
}

//===-- Matmuls from scratch memory ------------------------------------------------------------------------------===//

LinearLayout simt::rowMajorParts(ArrayRef<int64_t> shape, int axis, int64_t depth) {
  LinearLayout::Input offsets{Dim::Offset, {}}, parts{Dim::Register, {}};
  std::vector<LinearLayout::Output> outputs;
  for (auto [number, size] : llvm::enumerate(shape))
    outputs.push_back({layout::tileDim(int(number)), size});
  auto add = [&](LinearLayout::Input &input, int along, int64_t step) {
    std::vector<int64_t> &basis = input.bases.emplace_back(shape.size(), 0);
    basis[size_t(along)] = step;
  };
  for (int each = int(shape.size()); each-- > 0;)
    for (int64_t step = 1; step < (each == axis ? depth : shape[size_t(each)]); step *= 2)
      add(offsets, each, step);
  for (int64_t step = depth; axis >= 0 && step < shape[size_t(axis)]; step *= 2)
    add(parts, axis, step);
  std::vector<LinearLayout::Input> inputs = {offsets};
  if (!parts.bases.empty())
    inputs.push_back(parts);
  return LinearLayout(inputs, outputs);
}

LogicalResult DotScratchOp::verify() {
  SharedType a = getA().getType(), b = getB().getType();
  auto d = cast<RankedTensorType>(getC().getType());
  int64_t rank = d.getRank();
  ArrayRef<int64_t> left = a.getShape(), right = b.getShape();
  // Rule S53: shapes as of a product.
  bool fits = rank >= 2 && int64_t(left.size()) == rank && int64_t(right.size()) == rank && hasLayout(d);
  fits = fits && left[size_t(rank - 1)] == right[size_t(rank - 2)] &&
         left[size_t(rank - 2)] == d.getDimSize(rank - 2) && right[size_t(rank - 1)] == d.getDimSize(rank - 1) &&
         (rank == 2 || (left[0] == d.getDimSize(0) && right[0] == d.getDimSize(0)));
  if (!fits)
    return emitOpError() << "multiplies " << a << " by " << b << " into " << d;
  // Rule S54: both lie row-major, in as many parts along K.
  int64_t depth = left[size_t(rank - 1)] / a.getParts();
  if (a.getParts() != b.getParts() || depth < 1 || a.getStages() != 1 || b.getStages() != 1 || a.isPadded() ||
      b.isPadded() || !(a.getLayout() == rowMajorParts(left, int(rank - 1), depth)) ||
      !(b.getLayout() == rowMajorParts(right, int(rank - 2), depth)))
    return emitOpError() << "multiplies " << a << " by " << b
                         << ", which do not lie row-major in as many parts along K";
  return success();
}

//===-- Prints ---------------------------------------------------------------------------------------------------===//

LogicalResult PrintOp::verify() {
  // Rule S55: a place for each value, which is signed or not.
  size_t places = std::max<size_t>(1, getValues().size());
  if (getPlaces().size() != places || getIsSigned().size() != getValues().size())
    return emitOpError() << "prints " << getValues().size() << " values to " << getPlaces().size() << " places, and "
                         << "says of " << getIsSigned().size() << " whether they are signed";
  return success();
}
