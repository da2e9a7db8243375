// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Follows operands to arrays, sorts the dimensions of a dot by what they do, and joins those that lie in all arrays as
// one.
#include "program/DotAxes.h"
#include <algorithm>
#include <optional>

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

/// Strides of a reshape to dimensions `to`; nothing where its elements lie in no such order.
static std::optional<std::vector<int64_t>> reshaped(const std::vector<int64_t> &strides,
                                                    const std::vector<int64_t> &from, const std::vector<int64_t> &to) {
  std::vector<DotAxis> axes;
  for (size_t i = 0; i < from.size(); ++i)
    axes.push_back({from[i], strides[i]});
  axes = joined(axes);
  std::vector<int64_t> result(to.size());
  for (size_t i = to.size(); i-- > 0;) {
    if (to[i] == 1)
      continue;
    if (!axes.empty() && axes.back().size == 1)
      axes.pop_back();
    if (axes.empty() || axes.back().size % to[i] != 0)
      return std::nullopt;
    DotAxis &inner = axes.back();
    result[i] = inner.lhs;
    inner.size /= to[i], inner.lhs *= to[i];
  }
  return result;
}

ArrayView wholeOf(const Graph &graph, NodeId node) {
  return {node, 0, stridesOf(graph[node].shape)};
}

ArrayView viewOf(const Graph &graph, NodeId id, const std::vector<bool> &stored) {
  const Node &node = graph[id];
  auto source = [&] { return viewOf(graph, node.operands[0], stored); };
  bool isMoved = !stored[size_t(id)] && node.shape.elementCount() > 0 && !node.operands.empty() &&
                 !graph.operand(node, 0).shape.isScalar();
  if (!isMoved)
    return wholeOf(graph, id);
  const hlo::Shape &from = graph.operand(node, 0).shape;
  switch (node.opcode()) {
  case hlo::Opcode::Transpose: {
    ArrayView view = source(), moved = view;
    for (size_t i = 0; i < moved.strides.size(); ++i)
      moved.strides[i] = view.strides[size_t(node.instruction.dimensions[i])];
    return moved;
  }
  case hlo::Opcode::Broadcast: {
    ArrayView view = source(), moved = {view.array, view.first, std::vector<int64_t>(node.shape.dimensions.size())};
    for (size_t i = 0; i < view.strides.size(); ++i)
      moved.strides[size_t(node.instruction.dimensions[i])] = view.strides[i];
    return moved;
  }
  case hlo::Opcode::Slice: {
    ArrayView moved = source();
    for (size_t i = 0; i < moved.strides.size(); ++i) {
      moved.first += node.instruction.slice.starts[i] * moved.strides[i];
      moved.strides[i] *= node.instruction.slice.strides[i];
    }
    return moved;
  }
  case hlo::Opcode::Bitcast:
    if (from.type != node.shape.type || !from.hasDefaultLayout() || !node.shape.hasDefaultLayout())
      return wholeOf(graph, id);
    [[fallthrough]];
  case hlo::Opcode::Reshape: {
    ArrayView view = source();
    auto strides = reshaped(view.strides, from.dimensions, node.shape.dimensions);
    return strides ? ArrayView{view.array, view.first, *strides} : wholeOf(graph, id);
  }
  default:
    return wholeOf(graph, id);
  }
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

DotAxes axesOf(const Graph &graph, const Node &dot, const ArrayView &left, const ArrayView &right) {
  const hlo::DotDimensions &dims = dot.instruction.dot;
  const hlo::Shape &lhs = graph.operand(dot, 0).shape, &rhs = graph.operand(dot, 1).shape;
  const std::vector<int64_t> &lhsStrides = left.strides, &rhsStrides = right.strides;
  std::vector<int64_t> strides = stridesOf(dot.shape);
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
    auto inLeft = size_t(dims.lhsContracting[i]), inRight = size_t(dims.rhsContracting[i]);
    depth.push_back({lhs.dimensions[inLeft], lhsStrides[inLeft], rhsStrides[inRight], 0});
  }
  std::ranges::sort(depth, std::greater(), &DotAxis::lhs);

  DotAxes axes;
  axes.lhsArray = left.array, axes.lhsFirst = left.first;
  axes.rhsArray = right.array, axes.rhsFirst = right.first;
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
