// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Flattens calls, fusions and tuples, with a bound on the size that repeated calls may reach.
#include "program/Graph.h"
#include "program/LongReductions.h"
#include "program/QuantisedSum.h"
#include "program/Types.h"
#include "support/Error.h"
#include <fmt/format.h>
#include <functional>

namespace heddle::program {
namespace {

using hlo::Opcode;

/// A value of the text: one node, or the elements of a tuple. A token is a tuple of nothing.
struct Tree {
  NodeId node = -1;
  std::vector<Tree> elements;
};

void appendLeaves(const Tree &tree, std::vector<NodeId> &leaves) {
  if (tree.node >= 0)
    leaves.push_back(tree.node);
  for (const Tree &element : tree.elements)
    appendLeaves(element, leaves);
}

/// Of a module when every call is written out: computations that call each other twice grow without bounds.
constexpr int64_t mostInstructions = 1 << 20;
constexpr int deepestCall = 1000;

/// What has been inlined so far, loops included.
struct Inlining {
  int64_t instructions = 0;
  int depth = 0;
  const SumRegions *quantised = nullptr; ///< null: sums stay as they are
  size_t quantisedSums = 0;
};

class Flattener {
public:
  Flattener(const hlo::Module &module, Graph &graph, Inlining &inlining)
      : module(module), graph(graph), inlining(inlining) {}

  Tree inlined(const hlo::Computation &computation, const std::vector<Tree> &arguments) {
    std::vector<Tree> values;
    ++inlining.depth;
    for (const hlo::Instruction &instruction : computation.instructions) {
      checkLimits(instruction);
      values.push_back(instruction.opcode == Opcode::Parameter ? arguments[size_t(instruction.parameterNumber)]
                                                               : valueOf(instruction, values));
    }
    --inlining.depth;
    return values[size_t(computation.root)];
  }

  /// Parameters for a value of this shape. A complex array is its two parts.
  Tree parameter(const hlo::Instruction &instruction, const hlo::Shape &shape) {
    if (shape.isArray() && hlo::isComplex(shape.type)) {
      hlo::Shape part = partOf(shape);
      Tree real = parameter(instruction, part);
      return {-1, {real, parameter(instruction, part)}};
    }
    if (shape.isArray()) {
      Node node;
      node.instruction = instruction;
      node.shape = shape;
      Tree tree{add(std::move(node)), {}};
      graph.parameters.push_back(tree.node);
      return tree;
    }
    Tree tree;
    for (const hlo::Shape &element : shape.elements)
      tree.elements.push_back(parameter(instruction, element));
    return tree;
  }

  /// A parameter of the program: the parts of a complex number are a last dimension of 2.
  Tree argument(const hlo::Instruction &instruction, const hlo::Shape &shape) {
    if (shape.isTuple()) {
      Tree tree;
      for (const hlo::Shape &element : shape.elements)
        tree.elements.push_back(argument(instruction, element));
      return tree;
    }
    if (!shape.isArray() || !hlo::isComplex(shape.type))
      return parameter(instruction, shape);
    hlo::Shape part = partOf(shape);
    NodeId pairs = parameter(instruction, arrayOf(shape)).node;
    Tree parts;
    for (int64_t i = 0; i < 2; ++i) {
      hlo::Instruction slice = instruction, reshape = instruction;
      slice.opcode = Opcode::Slice, reshape.opcode = Opcode::Reshape;
      hlo::Shape row = graph[pairs].shape;
      slice.slice = {std::vector<int64_t>(row.dimensions.size(), 0), row.dimensions,
                     std::vector<int64_t>(row.dimensions.size(), 1)};
      slice.slice.starts.back() = i, slice.slice.limits.back() = i + 1;
      row.dimensions.back() = 1;
      parts.elements.push_back({add(reshape, part, {add(slice, row, {pairs})}), {}});
    }
    return parts;
  }

  /// The arrays of a result of the program, as above.
  void appendResults(const hlo::Instruction &root, const hlo::Shape &shape, const Tree &tree) {
    if (shape.isTuple())
      for (size_t i = 0; i < shape.elements.size(); ++i)
        appendResults(root, shape.elements[i], tree.elements[i]);
    if (!shape.isArray())
      return;
    if (!hlo::isComplex(shape.type))
      return graph.results.push_back(tree.node);
    hlo::Instruction reshape = root, join = root;
    reshape.opcode = Opcode::Reshape, join.opcode = Opcode::Concatenate;
    hlo::Shape all = arrayOf(shape), row = all;
    row.dimensions.back() = 1;
    join.dimensions = {row.rank() - 1};
    std::vector<NodeId> rows;
    for (const Tree &part : tree.elements)
      rows.push_back(add(reshape, row, {part.node}));
    graph.results.push_back(add(join, all, rows));
  }

private:
  static hlo::Shape partOf(const hlo::Shape &shape) { return hlo::Shape::array(arrayOf(shape).type, shape.dimensions); }

  void checkLimits(const hlo::Instruction &instruction) {
    std::string limit;
    if (inlining.depth > deepestCall)
      limit = fmt::format("is called through {} computations; {} are the most", inlining.depth, deepestCall);
    else if (++inlining.instructions > mostInstructions)
      limit = fmt::format("is instruction {} of the module with its calls written out; {} are the most",
                          inlining.instructions, mostInstructions);
    if (!limit.empty())
      throw inputError(fmt::format("{}`{}` {}", locationPrefix(module, instruction), instruction.name, limit),
                       {"calls, fusions and loops are inlined: let computations call each other less often"});
  }

  NodeId add(Node node) {
    if (!bufferType(node.shape.type))
      throw inputError(fmt::format("{}`{}` has elements of type {}, which devices do not compute with",
                                   locationPrefix(module, node.instruction), node.instruction.name,
                                   hlo::dtypeName(node.shape.type)),
                       {"use " + knownTypes()});
    NodeId id = NodeId(graph.nodes.size());
    for (NodeId operand : node.operands)
      graph.nodes[size_t(operand)].users.push_back(id);
    graph.nodes.push_back(std::move(node));
    return id;
  }

  NodeId add(const hlo::Instruction &instruction, const hlo::Shape &shape, std::vector<NodeId> operands) {
    Node node;
    node.instruction = instruction;
    node.instruction.shape = shape;
    node.shape = shape;
    node.operands = std::move(operands);
    return add(std::move(node));
  }

  AddNode adder() {
    return [this](const hlo::Instruction &made, const hlo::Shape &of, std::vector<NodeId> from) {
      return add(made, of, std::move(from));
    };
  }

  Tree valueOf(const hlo::Instruction &instruction, const std::vector<Tree> &values) {
    std::vector<Tree> operands;
    for (int operand : instruction.operands)
      operands.push_back(values[size_t(operand)]);
    switch (instruction.opcode) {
    case Opcode::Tuple:
      return {-1, operands};
    case Opcode::GetTupleElement:
      return operands[0].elements[size_t(instruction.tupleIndex)];
    case Opcode::OptimizationBarrier:
      return operands[0];
    case Opcode::Complex:
      return {-1, operands};
    case Opcode::Real:
    case Opcode::Imag:
      return operands[0].elements[instruction.opcode == Opcode::Real ? 0 : 1];
    case Opcode::Copy:
      if (!instruction.shape.isArray())
        return operands[0];
      break;
    case Opcode::AfterAll:
      return {};
    case Opcode::Call:
    case Opcode::Fusion:
      return inlined(module.computation(instruction.calledComputation), operands);
    case Opcode::While:
      return loop(instruction, operands[0]);
    default:
      break;
    }
    std::vector<NodeId> leaves;
    for (const Tree &operand : operands)
      appendLeaves(operand, leaves);
    if (instruction.opcode == Opcode::Bitcast && graph[leaves[0]].shape.type != instruction.shape.type)
      return {reinterpreted(instruction, leaves[0]), {}};
    if (inlining.quantised && canQuantise(module, instruction))
      return quantised(instruction, leaves);
    if (instruction.opcode == Opcode::Reduce && !instruction.shape.isTuple()) {
      const hlo::Shape from = graph[leaves[0]].shape;
      return {addReduction(module, instruction, instruction.shape, from, leaves, adder()), {}};
    }
    if (!instruction.shape.isTuple())
      return {add(instruction, instruction.shape, leaves), {}};
    if (instruction.opcode == Opcode::AllToAll)
      return exchangeOfTuple(instruction, leaves);
    Tree results; // variadic
    for (size_t i = 0; i < instruction.shape.elements.size(); ++i) {
      const hlo::Shape &shape = instruction.shape.elements[i];
      bool isReduce = instruction.opcode == Opcode::Reduce;
      NodeId id = add(instruction, shape, isReduce ? leaves : std::vector<NodeId>{leaves[i]});
      graph.nodes[size_t(id)].result = isReduce ? int(i) : 0;
      results.elements.push_back({id, {}});
    }
    return results;
  }

  Tree quantised(const hlo::Instruction &instruction, const std::vector<NodeId> &operands) {
    Tree results;
    for (NodeId operand : operands) {
      ++inlining.quantisedSums;
      hlo::Shape shape = graph[operand].shape;
      results.elements.push_back({quantisedSum(module, *inlining.quantised, instruction, shape, operand, adder()), {}});
    }
    return instruction.shape.isTuple() ? results : results.elements[0];
  }

  /// A bitcast to another type: the elements' bits are converted, in the order of memory where their number changes.
  NodeId reinterpreted(const hlo::Instruction &bitcast, NodeId operand) {
    const hlo::Shape from = graph[operand].shape, &to = bitcast.shape;
    hlo::Instruction convert = bitcast, reshape = bitcast;
    convert.opcode = Opcode::BitcastConvert, reshape.opcode = Opcode::Reshape;
    int64_t wide = hlo::bitWidth(from.type), narrow = hlo::bitWidth(to.type);
    hlo::Shape middle = from;
    if (wide == narrow) {
      middle.type = to.type;
      return add(bitcast, to, {add(convert, middle, {operand})});
    }
    middle = hlo::Shape::array(from.type, {from.elementCount()});
    NodeId flat = add(bitcast, middle, {operand});
    if (wide > narrow)
      return add(bitcast, to, {add(convert, hlo::Shape::array(to.type, {from.elementCount(), wide / narrow}), {flat})});
    middle.dimensions = {to.elementCount(), narrow / wide};
    NodeId rows = add(reshape, hlo::Shape::array(from.type, middle.dimensions), {flat});
    return add(bitcast, to, {add(convert, hlo::Shape::array(to.type, {to.elementCount()}), {rows})});
  }

  /// Operand j goes to member j: the array form on the operands as rows.
  Tree exchangeOfTuple(const hlo::Instruction &instruction, const std::vector<NodeId> &operands) {
    hlo::Shape part = graph[operands[0]].shape;
    std::vector<int64_t> rows = {1, part.elementCount()};
    hlo::Instruction reshape = instruction, join = instruction, exchange = instruction, pick = instruction;
    reshape.opcode = Opcode::Reshape, join.opcode = Opcode::Concatenate, pick.opcode = Opcode::Slice;
    reshape.collective = join.collective = pick.collective = std::nullopt;
    std::vector<NodeId> parts;
    for (NodeId operand : operands)
      parts.push_back(add(reshape, hlo::Shape::array(part.type, rows), {operand}));
    int64_t count = int64_t(operands.size());
    hlo::Shape all = hlo::Shape::array(part.type, {count, rows[1]});
    join.dimensions = exchange.dimensions = {0};
    NodeId joined = add(join, all, parts), exchanged = add(exchange, all, {joined});
    Tree results;
    for (int64_t i = 0; i < count; ++i) {
      pick.slice = {{i, 0}, {i + 1, rows[1]}, {1, 1}};
      NodeId row = add(pick, hlo::Shape::array(part.type, rows), {exchanged});
      results.elements.push_back({add(reshape, hlo::Shape::array(part.type, part.dimensions), {row}), {}});
    }
    return results;
  }

  std::unique_ptr<Graph> sub(int computation, const hlo::Shape &shape) {
    auto made = std::make_unique<Graph>();
    made->module = &module;
    Flattener flattener(module, *made, inlining);
    const hlo::Computation &source = module.computation(computation);
    Tree argument = flattener.parameter(source.parameter(0), shape);
    appendLeaves(flattener.inlined(source, {argument}), made->results);
    return made;
  }

  Tree loop(const hlo::Instruction &instruction, const Tree &start) {
    auto loop = std::make_shared<Loop>();
    loop->condition = sub(instruction.condition, instruction.shape);
    loop->body = sub(instruction.body, instruction.shape);
    std::vector<NodeId> leaves;
    appendLeaves(start, leaves);
    NodeId first = NodeId(graph.nodes.size());
    int count = 0;
    std::function<Tree(const Tree &)> results = [&](const Tree &like) {
      if (like.node >= 0) {
        NodeId id = add(instruction, graph[like.node].shape, leaves);
        graph.nodes[size_t(id)].result = count++;
        graph.nodes[size_t(id)].loop = loop;
        graph.nodes[size_t(id)].loopFirst = first;
        return Tree{id, {}};
      }
      Tree tree;
      for (const Tree &element : like.elements)
        tree.elements.push_back(results(element));
      return tree;
    };
    return results(start);
  }

  const hlo::Module &module;
  Graph &graph;
  Inlining &inlining;
};

} // namespace

std::string locationPrefix(const hlo::Module &module, const hlo::Instruction &instruction) {
  return fmt::format("{}:{}:{}: ", module.fileName, instruction.location.line, instruction.location.column);
}

std::unique_ptr<Graph> flatten(const hlo::Module &module, const SumRegions *quantised, size_t *count) {
  auto graph = std::make_unique<Graph>();
  graph->module = &module;
  Inlining inlining;
  inlining.quantised = quantised;
  Flattener flattener(module, *graph, inlining);
  const hlo::Computation &entry = module.entryComputation();
  std::vector<Tree> arguments;
  for (size_t i = 0; i < entry.parameters.size(); ++i)
    arguments.push_back(flattener.argument(entry.parameter(i), entry.parameter(i).shape));
  const hlo::Instruction &root = entry.rootInstruction();
  flattener.appendResults(root, root.shape, flattener.inlined(entry, arguments));
  if (count)
    *count = inlining.quantisedSums;
  return graph;
}

} // namespace heddle::program
