// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rules of reductions and scans in parts, of matmuls from scratch memory and of prints.
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

/// `Return`: what ends the region.
template <typename Return>
static LogicalResult verifyCombination(const Combination &combination) {
  auto [op, tiles, axis, region] = combination;
  // Rule S47: tiles of one layout, and an axis that they have.
  auto first = tiles.empty() ? RankedTensorType() : cast<RankedTensorType>(tiles.front().getType());
  if (!first || !hasLayout(first) || axis < 0 || axis >= first.getRank())
    return op->emitOpError() << "combines " << tiles.size() << " tiles along axis " << axis << " of "
                             << (first ? Type(first) : Type(NoneType::get(op->getContext())));
  for (Value tile : tiles)
    if (cast<RankedTensorType>(tile.getType()).clone(first.getElementType()) != first)
      return op->emitOpError() << "combines " << first << " and " << tile.getType() << ", which are no alike tiles";
  // Rule S48: the region makes an element of each tile of two.
  Block &block = region.front();
  Operation *end = block.empty() ? nullptr : &block.back();
  bool fits = isa_and_nonnull<Return>(end) && end->getNumOperands() == tiles.size() &&
              block.getNumArguments() == 2 * tiles.size();
  for (size_t i = 0; fits && i < tiles.size(); ++i) {
    Type element = triton::elementTypeOf(tiles[i].getType());
    fits = end->getOperand(unsigned(i)).getType() == element && block.getArgument(unsigned(i)).getType() == element &&
           block.getArgument(unsigned(i + tiles.size())).getType() == element;
  }
  if (!fits)
    return op->emitOpError() << "has a region that does not make " << tiles.size() << " elements of twice as many, and "
                             << "end by '" << Return::getOperationName() << "'";
  return success();
}

/// One of each element type of `tiles`, of this layout.
static bool areOfLayout(TypeRange types, ValueRange tiles, const LinearLayout &layout) {
  if (types.size() != tiles.size())
    return false;
  for (auto [type, tile] : llvm::zip(types, tiles)) {
    auto found = cast<RankedTensorType>(type);
    if (!hasLayout(found) || !(layoutOf(found) == layout) ||
        found.getElementType() != triton::elementTypeOf(tile.getType()))
      return false;
  }
  return true;
}

LogicalResult ReduceWarpsOp::verify() {
  Combination combination{*this, getSources(), int64_t(getAxis()), getCombine()};
  if (failed(verifyCombination<triton::ReduceReturnOp>(combination)))
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

LogicalResult ScanWarpsOp::verify() {
  auto axis = int(getAxis());
  if (failed(verifyCombination<triton::ScanReturnOp>({*this, getSources(), axis, getCombine()})))
    return failure();
  const LinearLayout &layout = layoutOf(getSources()[0].getType());
  // Rule S50: positions along the axis count registers first, lanes next, warps last.
  if (!layout::isScanOrdered(layout, axis))
    return emitOpError() << "scans " << getSources()[0].getType() << ", whose elements do not count registers first, "
                         << "then lanes, then warps along axis " << axis;
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
  auto axis = int(getAxis());
  if (failed(verifyCombination<triton::ScanReturnOp>({*this, getScanned(), axis, getCombine()})))
    return failure();
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
