// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An HLO computation without structure: calls and fusions are inlined, tuples are taken apart, variadic collectives are
// one each. What remains are nodes with one array each, in an order in which operands come first.
#pragma once
#include "frontend/hlo/Hlo.h"
#include <functional>
#include <memory>
#include <vector>

namespace heddle::program {

using NodeId = int;
struct Graph;
struct SumRegions;

/// Adds nodes to a graph.
using AddNode = std::function<NodeId(const hlo::Instruction &, const hlo::Shape &, std::vector<NodeId>)>;

/// The two computations of a `while`. Their parameters are the loop's arrays in order; the condition has one result.
struct Loop {
  std::unique_ptr<Graph> condition, body;
};

struct Node {
  hlo::Instruction instruction; ///< its operands and users are those of the text: use the node's
  hlo::Shape shape;             ///< an array
  std::vector<NodeId> operands;
  std::vector<NodeId> users; ///< one entry per use
  int result = 0;            ///< which array of a variadic reduce or of a loop this is
  std::shared_ptr<Loop> loop;
  NodeId loopFirst = -1; ///< node of array 0 of the same loop

  hlo::Opcode opcode() const { return instruction.opcode; }
};

struct Graph {
  const hlo::Module *module = nullptr;
  std::vector<Node> nodes;
  std::vector<NodeId> parameters; ///< arrays of the parameters, tuples taken apart, in order
  std::vector<NodeId> results;    ///< arrays of the root, tuples taken apart, in order

  const Node &operator[](NodeId id) const { return nodes[size_t(id)]; }
  const Node &operand(const Node &user, size_t number) const { return nodes[size_t(user.operands[number])]; }
};

/// The graph of the entry computation. `module` must outlive it. Throws Error{Input} with a location for types that no
/// device computes with (complex, below 8 bits, formats without hardware), for constants of them, and for computations
/// that call each other too deeply or too often to be written out.
/// With `quantised` every all-reduce that canQuantise becomes a quantisedSum; `count` are those.
std::unique_ptr<Graph> flatten(const hlo::Module &module, const SumRegions *quantised = nullptr,
                               size_t *count = nullptr);

/// `file.hlo:3:5: `
std::string locationPrefix(const hlo::Module &module, const hlo::Instruction &instruction);

} // namespace heddle::program
