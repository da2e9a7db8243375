// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How often a loop runs, and which arrays its body updates in their memory.
#pragma once
#include "program/Graph.h"
#include <optional>

namespace heddle::program {

/// The trips of a loop whose counter begins at a constant, grows by a positive constant in each trip, and is compared
/// with a constant; nothing for other loops.
std::optional<int64_t> tripsOf(const Graph &graph, const Node &loop);

/// The body's parameter that a dynamic-update-slice of a loop's array updates: the node is that array's result, and
/// reads the parameter only where it writes. -1 for other nodes. Whatever else reads the parameter must do so before.
/// `stored`: the nodes that have a buffer.
NodeId updatedParameter(const Graph &body, NodeId update, const std::vector<bool> &stored);

} // namespace heddle::program
