// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which nodes of a graph get a buffer, and in which steps those are computed. Everything else is computed where it is
// read: before, after and between.
#pragma once
#include "program/Graph.h"
#include <set>

namespace heddle::program {

/// One launch on every device, or a loop of launches.
struct Step {
  enum class Kind { Kernel, Collective, Loop };
  Kind kind = Kind::Kernel;
  NodeId node = -1;              ///< what a kernel computes; the collective; array 0 of the loop
  std::vector<NodeId> epilogues; ///< stored nodes that a collective's kernel computes from each of its tiles
  std::vector<NodeId> tail;      ///< stored nodes that it computes when all tiles are there: row reductions and what
                                 ///< is made of them
  bool keepsResult = true;       ///< whether somebody reads the collective's own result from a buffer
};

struct Partition {
  std::vector<bool> stored; ///< by node
  std::vector<Step> steps;

  /// The stored nodes that the expression of `node` (not stored itself, or a root) reads, ascending.
  std::set<NodeId> leavesOf(const Graph &graph, NodeId node) const;
};

struct PartitionOptions {
  bool fuseCollectives = true; ///< off: collectives read and write buffers only
};

Partition partition(const Graph &graph, const PartitionOptions &options = {});

} // namespace heddle::program
