// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which nodes of a graph get a buffer, and in which steps those are computed. Everything else is computed where it is
// read: before, after and between.
#pragma once
#include "program/Graph.h"
#include "program/Matmul.h"
#include <functional>
#include <limits>
#include <set>
#include <string>

namespace heddle::program {

/// One launch on every device, or a loop of launches.
struct Step {
  enum class Kind { Kernel, Collective, Loop };
  Kind kind = Kind::Kernel;
  NodeId node = -1;                   ///< what a kernel computes; the collective; array 0 of the loop
  std::vector<NodeId> epilogues = {}; ///< stored nodes that the kernel of a collective or dot computes from each tile
  std::vector<NodeId> tail = {}; ///< stored nodes that it computes when all tiles are there: row reductions and what
                                 ///< is made of them
  bool keepsResult =
      true; ///< whether anything reads the result of the collective, or of a dot that is last, from a buffer
  /// Above 0: a kernel or collective that takes rows of so many elements, one at a time. `rows` are the nodes that it
  /// makes of a row, in the order of the graph, and `epilogues` and `tail` are empty.
  int64_t columns = 0;
  std::vector<NodeId> rows = {};
  std::set<NodeId> kept = {}; ///< those of `rows` that something reads from a buffer
  /// A dot that the collective's kernel computes tile by tile: its operand, or the only reader of what it gathers.
  NodeId matmul = -1;
  std::string apart = {}; ///< of a collective beside a dot: why the two are two kernels
  /// Of a dot that the kernel computes in tiles.
  std::optional<DotAxes> dot = {};
  /// The parameter of a loop's body in whose memory the kernel makes a dynamic-update-slice: it writes the update only.
  NodeId inPlace = -1;
};

struct Partition {
  std::vector<bool> stored; ///< by node
  std::vector<Step> steps;

  /// The stored nodes that the expression of `node` (not stored itself, or a root) reads, ascending.
  std::set<NodeId> leavesOf(const Graph &graph, NodeId node) const;
};

struct PartitionOptions {
  bool isLoopBody = false;     ///< parameters and results are arrays that a loop carries
  bool fuseCollectives = true; ///< off: collectives read and write buffers only
  int64_t leastColumns = 32;   ///< shorter rows are not reduced as tiles
  /// A dot whose matmuls have fewer products of two elements each is a loop for each element of the result.
  int64_t leastProducts = 512;
  /// Whether what is made of a collective's rows is computed in its kernel; null: wherever it can be.
  std::function<bool(const hlo::Instruction &collective)> takesRows;
  /// Why a collective and the matmul before it, or after an all-gather, are better two kernels; empty: they are one.
  /// Null: one wherever they can be.
  std::function<std::string(const hlo::Instruction &collective, const Matmul &matmul)> whyApart;
  /// Of a larger result nothing is made in a tail, which one block computes alone.
  int64_t largestTail = std::numeric_limits<int64_t>::max();
};

Partition partition(const Graph &graph, const PartitionOptions &options = {});

} // namespace heddle::program
