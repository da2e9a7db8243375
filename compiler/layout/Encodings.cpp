// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocked layouts, their slices, and the layouts of mma.sync and wgmma. Each is a product of identities along axes,
// then fitted to the tile.
#include "compiler/layout/Encodings.h"
#include "compiler/layout/Fit.h"
#include "support/Error.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle::layout {

LinearLayout blocked(const Shape &shape, const Shape &sizePerThread, const Shape &lanesPerWarp, const Shape &warps,
                     const Order &order) {
  checkRank(shape, sizePerThread, "sizePerThread");
  checkRank(shape, lanesPerWarp, "lanesPerWarp");
  checkRank(shape, warps, "warps");
  LinearLayout tile = alongAxes(Dim::Register, sizePerThread, order) * alongAxes(Dim::Lane, lanesPerWarp, order) *
                      alongAxes(Dim::Warp, warps, order);
  return fitTile(tile, shape);
}

LinearLayout defaultBlocked(const Shape &shape, const Shape &sizePerThread, const Order &order, int64_t lanes,
                            int64_t warps) {
  if (shape.empty()) // every thread holds the scalar
    return slice(defaultBlocked({1}, {1}, {0}, lanes, warps), 0);
  checkRank(shape, sizePerThread, "sizePerThread");
  checkOrder(order, shape.size());
  Shape lanesPerWarp(shape.size(), 1), warpsPerAxis(shape.size(), 1);
  int64_t lanesLeft = lanes, warpsLeft = warps;
  for (int axis : order) {
    if (axis == order.back()) {
      lanesPerWarp[axis] = lanesLeft;
      warpsPerAxis[axis] = warpsLeft;
      break;
    }
    int64_t threads =
        std::clamp<int64_t>(shape[axis] / std::max<int64_t>(1, sizePerThread[axis]), 1, lanesLeft * warpsLeft);
    lanesPerWarp[axis] = std::min(threads, lanesLeft);
    warpsPerAxis[axis] = std::min(threads / lanesPerWarp[axis], warpsLeft);
    lanesLeft /= lanesPerWarp[axis];
    warpsLeft /= warpsPerAxis[axis];
  }
  return blocked(shape, sizePerThread, lanesPerWarp, warpsPerAxis, order);
}

LinearLayout slice(const LinearLayout &parent, int axis) {
  std::vector<Dim> inputs, outputs;
  for (const LinearLayout::Input &input : parent.inputs())
    inputs.push_back(input.dim);
  int rank = int(parent.outputs().size());
  for (const LinearLayout::Output &output : parent.outputs())
    if (output.dim != tileDim(axis))
      outputs.push_back(output.dim);
  if (int(outputs.size()) != rank - 1)
    throw internalError(fmt::format("layout: slice: no axis {} in a tile of rank {}", axis, rank));
  LinearLayout rest = parent.sublayout(inputs, outputs);
  for (int later = axis + 1; later < rank; ++later)
    rest = rest.renameOutput(tileDim(later), tileDim(later - 1));
  return rest.removeInputBits(Dim::Register, rest.freeBits(Dim::Register));
}

LinearLayout expandAxis(const LinearLayout &layout, int axis) {
  int rank = int(layout.outputs().size());
  LinearLayout expanded = layout;
  for (int later = rank; later-- > axis;)
    expanded = expanded.renameOutput(tileDim(later), tileDim(later + 1));
  std::vector<Dim> order;
  for (int each = 0; each <= rank; ++each)
    order.push_back(tileDim(each));
  return (expanded * LinearLayout::zeros1D(1, Dim::Register, tileDim(axis))).transposeOutputs(order);
}

LinearLayout permuteAxes(const LinearLayout &source, const Order &order) {
  std::vector<LinearLayout::Input> inputs = source.inputs();
  std::vector<LinearLayout::Output> outputs;
  for (size_t axis = 0; axis < order.size(); ++axis)
    outputs.push_back({tileDim(int(axis)), source.outputSize(tileDim(order[axis]))});
  for (LinearLayout::Input &input : inputs)
    for (size_t bit = 0; bit < input.bases.size(); ++bit) {
      std::vector<int64_t> moved;
      for (int axis : order)
        moved.push_back(source.basis(input.dim, int(bit), tileDim(axis)));
      input.bases[bit] = moved;
    }
  return LinearLayout(std::move(inputs), std::move(outputs));
}

/// What a warp holds of a matrix fragment of 8 rows, or 16: `pair` neighbours along `inner`, four lanes along it, eight
/// lanes along `outer`, then registers over `outerRepeat` times 8 of `outer` and `innerRepeat` times of `inner`.
static LinearLayout fragment(int64_t pair, int64_t outerRepeat, int64_t innerRepeat, Dim outer, Dim inner) {
  return LinearLayout::identity1D(pair, Dim::Register, inner) * LinearLayout::identity1D(4, Dim::Lane, inner) *
         LinearLayout::identity1D(8, Dim::Lane, outer) * LinearLayout::identity1D(outerRepeat, Dim::Register, outer) *
         LinearLayout::identity1D(innerRepeat, Dim::Register, inner);
}

LinearLayout mmaAccumulator(const Shape &shape, const Shape &warps) {
  MatrixAxes axes(shape);
  LinearLayout tile = fragment(2, 2, 1, axes.row, axes.column);
  return fitTile(withWarps(tile, alongAxes(Dim::Warp, warps, rowMajor(shape.size()))), shape);
}

/// Warps of a wgmma go down the rows: four of them make the 64 rows of an instruction.
static LinearLayout warpsDownRows(const Shape &shape, const Shape &warps) {
  if (warps.size() == shape.size() && warps[shape.size() - 2] % 4 != 0)
    throw internalError(fmt::format("layout: wgmma with {} warps along the rows", warps[shape.size() - 2]));
  Order order = rowMajor(shape.size());
  std::swap(order[0], order[1]);
  return alongAxes(Dim::Warp, warps, order);
}

LinearLayout wgmmaAccumulator(const Shape &shape, const Shape &warps, int64_t instructionN) {
  MatrixAxes axes(shape);
  LinearLayout tile = fragment(2, 2, instructionN / 8, axes.row, axes.column);
  return fitTile(withWarps(tile, warpsDownRows(shape, warps)), shape);
}

LinearLayout wgmmaOperand(const Shape &shape, const Shape &warps, int64_t kWidth) {
  MatrixAxes axes(shape);
  LinearLayout tile = fragment(kWidth, 2, 2, axes.row, axes.column);
  LinearLayout repeated = repeatToSize(tile, axes.column, shape.back());
  return fitTile(withWarps(repeated, withoutAxis(warpsDownRows(shape, warps), axes.column)), shape);
}

LinearLayout mmaOperand(const Shape &shape, const Shape &warps, int operand, int64_t kWidth) {
  MatrixAxes axes(shape);
  bool isA = operand == 0;
  LinearLayout tile =
      isA ? fragment(kWidth, 2, 2, axes.row, axes.column) : fragment(kWidth, 1, 2, axes.column, axes.row);
  Dim k = isA ? axes.column : axes.row;
  LinearLayout repeated = repeatToSize(tile, k, shape[int(k) - int(Dim::Dim0)]);
  LinearLayout warpLayout = withoutAxis(alongAxes(Dim::Warp, warps, rowMajor(shape.size())), k);
  return fitTile(withWarps(repeated, warpLayout), shape);
}

} // namespace heddle::layout
