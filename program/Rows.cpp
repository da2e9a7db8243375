// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Walks from a row reduction through what reads it, and stops where another row would be needed.
#include "program/Rows.h"
#include "collectives/Plan.h"
#include <algorithm>
#include <functional>
#include <map>

namespace heddle::program {

using hlo::Opcode;

std::optional<size_t> dimensionsBeforeRow(const std::vector<int64_t> &dimensions, int64_t columns) {
  int64_t product = 1;
  for (size_t i = dimensions.size(); i-- > 0;) {
    product *= dimensions[i];
    if (product == columns)
      return i;
  }
  return std::nullopt;
}

std::optional<RowShape> rowReductionOf(const Graph &graph, NodeId id, int64_t leastColumns) {
  const Node &node = graph[id];
  if (node.opcode() != Opcode::Reduce || node.operands.size() != 2 || node.shape.type == hlo::DType::Pred ||
      !hlo::reductionKindOf(graph.module->computation(node.instruction.calledComputation)))
    return std::nullopt;
  const hlo::Shape &from = graph.operand(node, 0).shape;
  std::vector<int64_t> reduced = node.instruction.dimensions;
  std::sort(reduced.begin(), reduced.end());
  int64_t columns = 1;
  for (size_t i = 0; i < reduced.size(); ++i) {
    if (reduced[i] != int64_t(from.dimensions.size() - reduced.size() + i))
      return std::nullopt;
    columns *= from.dimensions[size_t(reduced[i])];
  }
  if (columns < std::max<int64_t>(2, leastColumns) || columns > largestRow || from.elementCount() == 0)
    return std::nullopt;
  return RowShape{from.elementCount() / columns, columns};
}

int64_t elementsPerAccess(const Graph &graph, NodeId reduction) {
  constexpr int64_t accessBytes = 16;
  int64_t narrowest = accessBytes;
  std::set<NodeId> seen;
  std::function<void(NodeId)> visit = [&](NodeId id) {
    const Node &node = graph[id];
    if (!seen.insert(id).second || node.shape.isScalar())
      return;
    narrowest = std::min(narrowest, hlo::elementSizeBytes(node.shape.type));
    if (hlo::isElementwise(node.opcode()))
      std::for_each(node.operands.begin(), node.operands.end(), visit);
  };
  visit(graph[reduction].operands[0]);
  return accessBytes / narrowest;
}

namespace {

class RowReader {
public:
  RowReader(const Graph &graph, const std::vector<bool> &stored, const std::set<NodeId> &made, const RowShape &shape)
      : graph(graph), stored(stored), made(made), shape(shape) {}

  /// `isRow`: all elements of the row, not one number of it.
  bool visitRoot(NodeId root) {
    const Node &node = graph[root];
    if (node.opcode() != Opcode::Reduce)
      return (shape.isRows(node.shape) || shape.isNumbers(node.shape)) && visitOperands(root, shape.isRows(node.shape));
    return !contains(node.operands[1]) && visit(node.operands[0], true);
  }

private:
  bool isRead(NodeId id) const { return made.count(id) || stored[size_t(id)]; }

  bool contains(NodeId id) {
    if (isRead(id))
      return made.count(id) > 0;
    auto [entry, isNew] = known.try_emplace(id, false);
    if (isNew) {
      const std::vector<NodeId> &operands = graph[id].operands;
      bool found = std::any_of(operands.begin(), operands.end(), [&](NodeId operand) { return contains(operand); });
      known[id] = found;
      return found;
    }
    return entry->second;
  }

  bool visit(NodeId id, bool isRow) {
    if (!contains(id))
      return true;
    if (made.count(id))
      return isRow ? shape.isRows(graph[id].shape) : shape.isNumbers(graph[id].shape);
    auto [entry, isNew] = fine.try_emplace({id, isRow}, false);
    return isNew ? fine[{id, isRow}] = visitOperands(id, isRow) : entry->second;
  }

  bool visitOperands(NodeId id, bool isRow) {
    const Node &node = graph[id];
    bool keeps = hlo::isElementwise(node.opcode()) || node.opcode() == Opcode::Reshape ||
                 (node.opcode() == Opcode::Bitcast && node.shape.hasDefaultLayout() &&
                  graph.operand(node, 0).shape.hasDefaultLayout());
    return std::all_of(node.operands.begin(), node.operands.end(), [&](NodeId operand) {
      const hlo::Shape &from = graph[operand].shape;
      if (!contains(operand))
        return true;
      if (keeps && from.elementCount() == node.shape.elementCount() &&
          hlo::bitWidth(from.type) == hlo::bitWidth(node.shape.type))
        return visit(operand, isRow);
      if (keeps && hlo::isElementwise(node.opcode()) && from.elementCount() == node.shape.elementCount())
        return node.opcode() != Opcode::BitcastConvert && visit(operand, isRow);
      return isRow && node.opcode() == Opcode::Broadcast && spreadsNumbers(node, from) && visit(operand, false);
    });
  }

  /// Each element of a row gets the row's number.
  bool spreadsNumbers(const Node &broadcast, const hlo::Shape &from) const {
    if (!shape.isRows(broadcast.shape) || !shape.isNumbers(from))
      return false;
    if (from.isScalar())
      return true;
    std::optional<size_t> kept = dimensionsBeforeRow(broadcast.shape.dimensions, shape.columns);
    const std::vector<int64_t> &to = broadcast.instruction.dimensions;
    if (!kept)
      return false;
    // In order; what is left out has size 1, as there are no more elements than rows.
    return std::is_sorted(to.begin(), to.end()) && (to.empty() || to.back() < int64_t(*kept));
  }

  const Graph &graph;
  const std::vector<bool> &stored;
  const std::set<NodeId> &made;
  const RowShape &shape;
  std::map<NodeId, bool> known;
  std::map<std::pair<NodeId, bool>, bool> fine;
};

} // namespace

bool readsRowByRow(const Graph &graph, const std::vector<bool> &stored, NodeId root, const std::set<NodeId> &made,
                   const RowShape &shape) {
  return RowReader(graph, stored, made, shape).visitRoot(root);
}

} // namespace heddle::program
