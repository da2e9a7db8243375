// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sorts the dimensions of a dot by what they do, and joins those that lie in all arrays as one.
#include "program/DotAxes.h"
#include <algorithm>

namespace heddle::program {

static std::vector<int64_t> stridesOf(const hlo::Shape &shape) {
  std::vector<int64_t> strides(shape.dimensions.size(), 1);
  for (size_t i = strides.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape.dimensions[i];
  return strides;
}

/// Outer axes come first.
static std::vector<DotAxis> joined(const std::vector<DotAxis> &axes) {
  std::vector<DotAxis> result;
  for (const DotAxis &axis : axes) {
    if (axis.size == 1)
      continue;
    DotAxis *outer = result.empty() ? nullptr : &result.back();
    bool isOne = outer && outer->lhs == axis.lhs * axis.size && outer->rhs == axis.rhs * axis.size &&
                 outer->result == axis.result * axis.size;
    if (isOne)
      *outer = {outer->size * axis.size, axis.lhs, axis.rhs, axis.result};
    else
      result.push_back(axis);
  }
  return result;
}

/// Takes the largest one out.
static DotAxis largestOf(std::vector<DotAxis> &axes) {
  auto largest = std::ranges::max_element(axes, {}, &DotAxis::size);
  if (largest == axes.end())
    return {};
  DotAxis axis = *largest;
  axes.erase(largest);
  return axis;
}

DotAxes axesOf(const Graph &graph, const Node &dot) {
  const hlo::DotDimensions &dims = dot.instruction.dot;
  const hlo::Shape &lhs = graph.operand(dot, 0).shape, &rhs = graph.operand(dot, 1).shape;
  std::vector<int64_t> lhsStrides = stridesOf(lhs), rhsStrides = stridesOf(rhs), strides = stridesOf(dot.shape);
  std::vector<DotAxis> batch, rows, columns, depth;
  size_t next = 0; // dimension of the result
  for (size_t i = 0; i < dims.lhsBatch.size(); ++i, ++next)
    batch.push_back({dot.shape.dimensions[next], lhsStrides[size_t(dims.lhsBatch[i])],
                     rhsStrides[size_t(dims.rhsBatch[i])], strides[next]});
  auto isFree = [](int64_t i, const std::vector<int64_t> &batch, const std::vector<int64_t> &contracting) {
    return !std::ranges::count(batch, i) && !std::ranges::count(contracting, i);
  };
  for (size_t i = 0; i < lhs.dimensions.size(); ++i)
    if (isFree(int64_t(i), dims.lhsBatch, dims.lhsContracting))
      rows.push_back({lhs.dimensions[i], lhsStrides[i], 0, strides[next++]});
  for (size_t i = 0; i < rhs.dimensions.size(); ++i)
    if (isFree(int64_t(i), dims.rhsBatch, dims.rhsContracting))
      columns.push_back({rhs.dimensions[i], 0, rhsStrides[i], strides[next++]});
  for (size_t i = 0; i < dims.lhsContracting.size(); ++i) {
    size_t left = size_t(dims.lhsContracting[i]), right = size_t(dims.rhsContracting[i]);
    depth.push_back({lhs.dimensions[left], lhsStrides[left], rhsStrides[right], 0});
  }
  std::ranges::sort(depth, std::greater(), &DotAxis::lhs);

  DotAxes axes;
  axes.lhs = lhs.type, axes.rhs = rhs.type, axes.result = dot.shape.type;
  rows = joined(rows), columns = joined(columns), depth = joined(depth);
  axes.row = largestOf(rows), axes.column = largestOf(columns), axes.depth = largestOf(depth);
  batch.insert(batch.end(), rows.begin(), rows.end());
  batch.insert(batch.end(), columns.begin(), columns.end());
  axes.batch = joined(batch);
  axes.outerDepth = depth;
  return axes;
}

int64_t DotAxes::matmuls() const {
  int64_t product = 1;
  for (const DotAxis &axis : batch)
    product *= axis.size;
  return product;
}

} // namespace heddle::program
