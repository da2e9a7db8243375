// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Looks through copies, which XLA puts before what a loop updates.
#include "program/Loops.h"
#include <algorithm>
#include <cstring>
#include <map>

namespace heddle::program {

using hlo::DType;
using hlo::Opcode;

static NodeId withoutCopies(const Graph &graph, NodeId id) {
  while (graph[id].opcode() == Opcode::Copy)
    id = graph[id].operands[0];
  return id;
}

//===-- Trips ----------------------------------------------------------------------------------------------------===//

/// Of a signed scalar.
static std::optional<int64_t> constantOf(const Graph &graph, NodeId id) {
  const Node &node = graph[withoutCopies(graph, id)];
  const std::string &bytes = node.instruction.literal;
  if (node.opcode() != Opcode::Constant || !node.shape.isScalar())
    return std::nullopt;
  if (node.shape.type == DType::S32) {
    int32_t value = 0;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  if (node.shape.type == DType::S64) {
    int64_t value = 0;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  return std::nullopt;
}

static std::optional<size_t> parameterNumber(const Graph &graph, NodeId id) {
  auto found = std::ranges::find(graph.parameters, withoutCopies(graph, id));
  return found == graph.parameters.end() ? std::nullopt : std::optional(size_t(found - graph.parameters.begin()));
}

std::optional<int64_t> tripsOf(const Graph &graph, const Node &loop) {
  const Graph &condition = *loop.loop->condition, &body = *loop.loop->body;
  const Node &test = condition[withoutCopies(condition, condition.results[0])];
  if (test.opcode() != Opcode::Compare || test.instruction.direction != hlo::CompareDirection::Less)
    return std::nullopt;
  std::optional<size_t> counter = parameterNumber(condition, test.operands[0]);
  if (!counter)
    return std::nullopt;
  // A constant of the condition, or one that the loop carries and no trip changes.
  std::optional<int64_t> end = constantOf(condition, test.operands[1]);
  std::optional<size_t> bound = parameterNumber(condition, test.operands[1]);
  if (bound && withoutCopies(body, body.results[*bound]) == body.parameters[*bound])
    end = constantOf(graph, loop.operands[*bound]);
  const Node &next = body[withoutCopies(body, body.results[*counter])];
  std::optional<int64_t> step;
  if (next.opcode() == Opcode::Add)
    for (size_t i : {0, 1})
      if (parameterNumber(body, next.operands[i]) == counter)
        step = constantOf(body, next.operands[1 - i]);
  std::optional<int64_t> begin = constantOf(graph, loop.operands[*counter]);
  constexpr int64_t most = int64_t(1) << 30; // neither the counter nor the difference wraps around
  if (!begin || !end || !step || *step <= 0 || *step > most || *begin < -most || *begin > most || *end < -most ||
      *end > most)
    return std::nullopt;
  return std::max<int64_t>(0, (*end - *begin + *step - 1) / *step);
}

//===-- Updates in place -----------------------------------------------------------------------------------------===//

namespace {

class InPlace {
public:
  InPlace(const Graph &body, const Node &update, NodeId parameter, const std::vector<bool> &stored)
      : body(body), update(update), parameter(parameter), stored(stored) {}

  bool reads(NodeId id);
  /// Whether each element of a node, which has as many as the update, reads the parameter at most where that element of
  /// the update goes.
  bool readsOwn(NodeId id);

private:
  bool isSameWindow(const Node &slice) const;

  const Graph &body;
  const Node &update;
  NodeId parameter;
  const std::vector<bool> &stored;
  std::map<NodeId, bool> known;
};

} // namespace

bool InPlace::reads(NodeId id) {
  if (id == parameter || stored[size_t(id)])
    return id == parameter;
  auto [entry, isNew] = known.try_emplace(id, false);
  if (isNew)
    known[id] = std::ranges::any_of(body[id].operands, [&](NodeId operand) { return reads(operand); });
  return known[id];
}

bool InPlace::isSameWindow(const Node &slice) const {
  if (withoutCopies(body, slice.operands[0]) != parameter ||
      slice.shape.dimensions != body.operand(update, 1).shape.dimensions)
    return false;
  for (size_t i = 1; i < slice.operands.size(); ++i) {
    const Node &one = body[slice.operands[i]], &other = body[update.operands[i + 1]];
    bool isConstant = one.opcode() == Opcode::Constant && other.opcode() == Opcode::Constant &&
                      one.shape.sameAs(other.shape) && one.instruction.literal == other.instruction.literal;
    if (slice.operands[i] != update.operands[i + 1] && !isConstant)
      return false;
  }
  return true;
}

bool InPlace::readsOwn(NodeId id) {
  const Node &node = body[id];
  if (!reads(id) || (node.opcode() == Opcode::DynamicSlice && isSameWindow(node)))
    return true;
  bool keepsPlaces = hlo::isElementwise(node.opcode()) || node.opcode() == Opcode::Reshape;
  return id != parameter && keepsPlaces && std::ranges::all_of(node.operands, [&](NodeId operand) {
           bool isSame = body[operand].shape.elementCount() == node.shape.elementCount();
           return isSame ? readsOwn(operand) : !reads(operand);
         });
}

NodeId updatedParameter(const Graph &body, NodeId id, const std::vector<bool> &stored) {
  const Node &node = body[id];
  if (node.opcode() != Opcode::DynamicUpdateSlice || node.shape.isScalar())
    return -1;
  NodeId parameter = withoutCopies(body, node.operands[0]);
  auto number = parameterNumber(body, parameter);
  if (!number || body.results[*number] != id || std::ranges::find(body.results, parameter) != body.results.end())
    return -1;
  InPlace inPlace(body, node, parameter, stored);
  bool isOwn = inPlace.readsOwn(node.operands[1]);
  for (size_t i = 2; i < node.operands.size(); ++i)
    isOwn &= !inPlace.reads(node.operands[i]);
  return isOwn ? parameter : -1;
}

} // namespace heddle::program
