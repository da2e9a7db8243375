// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A dot with any dimensions as matmuls of matrices with any strides: what a tile reads and where it goes.
#pragma once
#include "program/Graph.h"
#include <vector>

namespace heddle::program {

/// A dimension of a dot, or several that lie in each array as one: its size, and how many elements of each array lie
/// from one index to the next (0: the array does not have it).
struct DotAxis {
  int64_t size = 1, lhs = 0, rhs = 0, result = 0;
};

/// Where the elements of a node are in an array from which operations only move them.
struct ArrayView {
  NodeId array = -1;
  int64_t first = 0;            ///< element of the array
  std::vector<int64_t> strides; ///< in its elements, by dimension of the node
};

/// Through transposes, broadcasts, slices and reshapes, as far as strides tell where elements are, to the first node
/// that is stored.
ArrayView viewOf(const Graph &graph, NodeId node, const std::vector<bool> &stored);
/// Of the node itself.
ArrayView wholeOf(const Graph &graph, NodeId node);

/// result[batch...][row][column] = sum over outerDepth..., depth of lhs * rhs.
struct DotAxes {
  DotAxis row, column, depth;
  /// Each index is a matmul of its own: batch dimensions, and free ones that do not lie as one with `row` or `column`.
  std::vector<DotAxis> batch;
  std::vector<DotAxis> outerDepth; ///< contracted ones that do not lie as one with `depth`
  hlo::DType lhs = hlo::DType::F32, rhs = hlo::DType::F32, result = hlo::DType::F32;
  NodeId lhsArray = -1, rhsArray = -1; ///< nodes whose arrays are read, from these elements on
  int64_t lhsFirst = 0, rhsFirst = 0;

  int64_t matmuls() const; ///< indices of all batch axes together
};

/// Of any dot. The largest of several axes that could be the row, the column or the depth is the one.
DotAxes axesOf(const Graph &graph, const Node &dot, const ArrayView &lhs, const ArrayView &rhs);

} // namespace heddle::program
