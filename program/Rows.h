// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code that takes arrays row by row: which reductions are of rows, and what can be computed for a row when only that
// row of other arrays is at hand.
#pragma once
#include "program/Graph.h"
#include <optional>
#include <set>

namespace heddle::program {

/// Arrays of rows * columns elements, and of a number for each row.
struct RowShape {
  int64_t rows = 0, columns = 0;
  bool operator==(const RowShape &) const = default;
  bool isRows(const hlo::Shape &shape) const { return shape.elementCount() == rows * columns; }
  bool isNumbers(const hlo::Shape &shape) const { return shape.elementCount() == rows; }
};

/// What a reduction folds when it is over the last dimensions, of one array by one operation, and its rows are neither
/// shorter than `leastColumns` nor longer than the longest tile. Depends on nothing else, so that a sum has the same
/// bits wherever it is computed.
std::optional<RowShape> rowReductionOf(const Graph &graph, NodeId node, int64_t leastColumns);

/// How many dimensions come before those that a row of so many elements has; none when no dimension begins there.
std::optional<size_t> dimensionsBeforeRow(const std::vector<int64_t> &dimensions, int64_t columns);

/// Elements that a thread reads at once where the narrowest array is read from which a row's reduction is made.
int64_t elementsPerAccess(const Graph &graph, NodeId reduction);

/// Whether the code of `root`, an array of rows or of a number for each, reads those of `made` at its own row only, and
/// finds them there. `stored` are the nodes that have buffers, in which any element can be read.
bool readsRowByRow(const Graph &graph, const std::vector<bool> &stored, NodeId root, const std::set<NodeId> &made,
                   const RowShape &shape);

} // namespace heddle::program
