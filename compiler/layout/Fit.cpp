// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fitting a product of identities to a tile: repetition in registers, copies in lanes and warps.
#include "compiler/layout/Fit.h"
#include "support/Error.h"
#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>

namespace heddle::layout {

void checkRank(const Shape &shape, const Shape &sizes, const char *what) {
  if (shape.size() != sizes.size())
    throw internalError(fmt::format("layout: {} of rank {} for a tile of rank {}", what, sizes.size(), shape.size()));
}

void checkOrder(const Order &order, size_t rank) {
  Order sorted = order, axes(rank);
  std::sort(sorted.begin(), sorted.end());
  std::iota(axes.begin(), axes.end(), 0);
  if (sorted != axes)
    throw internalError(fmt::format("layout: the order ({}) of {} axes", fmt::join(order, ", "), rank));
}

MatrixAxes::MatrixAxes(const Shape &shape) {
  if (shape.size() < 2)
    throw internalError(fmt::format("layout: a tile of rank {} as a matrix", shape.size()));
  row = tileDim(int(shape.size()) - 2);
  column = tileDim(int(shape.size()) - 1);
}

LinearLayout alongAxes(Dim in, const Shape &sizes, const Order &order) {
  LinearLayout product;
  checkOrder(order, sizes.size());
  for (int axis : order)
    product *= LinearLayout::identity1D(sizes[axis], in, tileDim(axis));
  return product;
}

LinearLayout withWarps(const LinearLayout &tile, const LinearLayout &warps) {
  std::vector<Dim> order;
  for (const LinearLayout::Output &output : tile.outputs())
    order.push_back(output.dim);
  for (const LinearLayout::Output &output : warps.outputs())
    if (!tile.hasOutput(output.dim))
      order.push_back(output.dim);
  return tile * warps.transposeOutputs(order);
}

/// The layout with the bases of some inputs changed, and outputs of some sizes.
template <typename Change>
static LinearLayout changeBases(const LinearLayout &layout, std::vector<LinearLayout::Output> outputs, Change change) {
  std::vector<LinearLayout::Input> inputs = layout.inputs();
  for (LinearLayout::Input &input : inputs)
    for (std::vector<int64_t> &basis : input.bases)
      change(basis);
  return LinearLayout(std::move(inputs), std::move(outputs));
}

static int outputIndex(const LinearLayout &layout, Dim axis) {
  for (size_t k = 0; k < layout.outputs().size(); ++k)
    if (layout.outputs()[k].dim == axis)
      return int(k);
  return -1;
}

/// With `axis` of `size`: the values above it become 0.
static LinearLayout cutToSize(const LinearLayout &layout, Dim axis, int64_t size) {
  int index = outputIndex(layout, axis);
  if (index < 0 || layout.outputSize(axis) <= size)
    return layout;
  std::vector<LinearLayout::Output> outputs = layout.outputs();
  outputs[index].size = size;
  return changeBases(layout, outputs, [&](std::vector<int64_t> &basis) { basis[index] &= size - 1; });
}

LinearLayout withoutAxis(const LinearLayout &layout, Dim axis) {
  return cutToSize(layout, axis, 1);
}

LinearLayout repeatToSize(const LinearLayout &layout, Dim axis, int64_t size) {
  int64_t there = layout.outputSize(axis);
  return there >= size ? layout : layout * LinearLayout::identity1D(size / there, layout.inputs()[0].dim, axis);
}

LinearLayout fitTile(const LinearLayout &layout, const Shape &shape) {
  for (int64_t size : shape)
    if (size <= 0 || !std::has_single_bit(uint64_t(size)))
      throw internalError(fmt::format("layout: a tile of {} along an axis, not a power of two", size));
  LinearLayout fitted = layout;
  std::vector<Dim> axes;
  for (size_t axis = 0; axis < shape.size(); ++axis)
    axes.push_back(tileDim(int(axis)));
  for (const LinearLayout::Output &output : layout.outputs())
    fitted = repeatToSize(fitted, output.dim, shape.at(int(output.dim) - int(Dim::Dim0)));
  for (size_t axis = 0; axis < shape.size(); ++axis)
    fitted = cutToSize(fitted, axes[axis], shape[axis]);
  return fitted.transposeOutputs(axes).removeZeroBases(Dim::Register);
}

} // namespace heddle::layout
