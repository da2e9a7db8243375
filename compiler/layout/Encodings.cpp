// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocked layouts, and the layouts of mma.sync and wgmma. Each is a product of identities along axes,
// then fitted to the tile.
#include "compiler/layout/Encodings.h"
#include "compiler/layout/Axes.h"
#include "compiler/layout/Fit.h"
#include "support/Error.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace heddle::layout {

Order rowMajor(size_t rank) {
  Order order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

LinearLayout blocked(const Shape &shape, const Shape &sizePerThread, const Shape &lanesPerWarp, const Shape &warps,
                     const Order &order) {
  checkRank(shape, sizePerThread, "sizePerThread");
  checkRank(shape, lanesPerWarp, "lanesPerWarp");
  checkRank(shape, warps, "warps");
  LinearLayout tile = alongAxes(Dim::Register, sizePerThread, order) * alongAxes(Dim::Lane, lanesPerWarp, order) *
                      alongAxes(Dim::Warp, warps, order);
  return fitTile(tile, shape);
}

ThreadSplit splitThreads(const Shape &shape, const Shape &sizePerThread, const Order &order, int64_t lanes,
                         int64_t warps) {
  checkRank(shape, sizePerThread, "sizePerThread");
  checkOrder(order, shape.size());
  ThreadSplit split{Shape(shape.size(), 1), Shape(shape.size(), 1)};
  int64_t lanesLeft = lanes, warpsLeft = warps;
  for (int axis : order) {
    if (axis == order.back()) {
      split.lanes[axis] = lanesLeft;
      split.warps[axis] = warpsLeft;
      break;
    }
    int64_t threads =
        std::clamp<int64_t>(shape[axis] / std::max<int64_t>(1, sizePerThread[axis]), 1, lanesLeft * warpsLeft);
    split.lanes[axis] = std::min(threads, lanesLeft);
    split.warps[axis] = std::min(threads / split.lanes[axis], warpsLeft);
    lanesLeft /= split.lanes[axis];
    warpsLeft /= split.warps[axis];
  }
  return split;
}

LinearLayout defaultBlocked(const Shape &shape, const Shape &sizePerThread, const Order &order, int64_t lanes,
                            int64_t warps) {
  if (shape.empty()) // every thread holds the scalar
    return slice(defaultBlocked({1}, {1}, {0}, lanes, warps), 0);
  ThreadSplit split = splitThreads(shape, sizePerThread, order, lanes, warps);
  return blocked(shape, sizePerThread, split.lanes, split.warps, order);
}

LinearLayout blockedAlong(const Shape &shape, int axis, int64_t lanes, int64_t warps) {
  int64_t elements = std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
  Shape size(shape.size(), 1);
  size[size_t(axis)] = std::clamp<int64_t>(elements / (lanes * warps), 1, shape[size_t(axis)]);
  Order order = rowMajor(shape.size());
  std::erase(order, axis);
  order.insert(order.begin(), axis);
  return defaultBlocked(shape, size, order, lanes, warps);
}

LinearLayout blockedByPacks(const Shape &shape, int64_t pack, int64_t lanes, int64_t warps) {
  Shape size(shape.size(), 1);
  for (size_t axis = shape.size(); axis-- > 0; pack /= size[axis])
    size[axis] = std::min(pack, shape[axis]);
  return defaultBlocked(shape, size, rowMajor(shape.size()), lanes, warps);
}

/// What a warp holds of a matrix fragment of 8 rows, or 16: `pair` contiguous elements along `inner`, four lanes along
/// it, eight lanes along `outer`, then registers over `outerRepeat` times 8 of `outer` and `innerRepeat` times of
/// `inner`.
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

/// Warps of a wgmma go down the rows first: four of them make the 64 rows of an instruction. Layouts of results that no
/// instruction leaves may have fewer there.
static LinearLayout warpsDownRows(const Shape &shape, const Shape &warps) {
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
