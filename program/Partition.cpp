// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decides by cost what is stored, and groups what can be computed in one step.
#include "program/Partition.h"
#include "program/Expression.h"
#include "program/Loops.h"
#include "program/Rows.h"
#include <algorithm>
#include <functional>
#include <map>

namespace heddle::program {
namespace {

using hlo::Opcode;

/// What is read more than once and costs as many operations is stored; so is an expression that grows beyond the
/// second.
constexpr int64_t worthStoring = 16, largestExpression = 300;

bool isMade(const Node &node) {
  return node.opcode() != Opcode::Parameter;
}

int64_t ownCost(const Node &node) {
  switch (node.opcode()) {
  case Opcode::Exponential:
  case Opcode::ExponentialMinusOne:
  case Opcode::Log:
  case Opcode::LogPlusOne:
  case Opcode::Logistic:
  case Opcode::Tanh:
  case Opcode::Sine:
  case Opcode::Cosine:
  case Opcode::Erf:
    return 20;
  case Opcode::Tan:
  case Opcode::Cbrt:
  case Opcode::Power:
  case Opcode::Atan2:
    return 60;
  case Opcode::Divide:
  case Opcode::Remainder:
    return 8;
  default:
    return 1;
  }
}

/// Nodes that always have a buffer.
bool mustStore(const Node &node) {
  switch (node.opcode()) {
  case Opcode::Parameter:
  case Opcode::Reduce:
  case Opcode::Dot:
  case Opcode::While:
    return true;
  case Opcode::Constant:
    return !isSplat(node);
  default:
    return hlo::isCollective(node.opcode());
  }
}

class Partitioner {
public:
  Partitioner(const Graph &graph, const PartitionOptions &options) : graph(graph), options(options) {
    result.stored.assign(graph.nodes.size(), false);
  }

  Partition run() {
    chooseStored();
    for (NodeId id = 0; id < NodeId(graph.nodes.size()); ++id)
      if (hlo::isCollective(graph[id].opcode()))
        fuse(id);
    for (NodeId id = 0; id < NodeId(graph.nodes.size()); ++id)
      if (isPlainKernel(id) && !movedTo.count(id))
        gatherRows(id);
    for (NodeId id = 0; id < NodeId(graph.nodes.size()); ++id)
      addStep(id);
    return std::move(result);
  }

private:
  void chooseStored() {
    for (NodeId id : graph.results)
      if (isMade(graph[id]))
        result.stored[size_t(id)] = true;
    std::vector<int64_t> cost(graph.nodes.size());
    for (NodeId id = 0; id < NodeId(graph.nodes.size()); ++id) {
      const Node &node = graph[id];
      int64_t total = ownCost(node);
      for (NodeId operand : node.operands)
        total += result.stored[size_t(operand)] ? 1 : cost[size_t(operand)];
      bool repeats = node.users.size() > 1 && total >= worthStoring;
      for (NodeId user : node.users)
        repeats |= isReadOften(node, graph[user], total);
      if (mustStore(node) || repeats || total > largestExpression)
        result.stored[size_t(id)] = true;
      cost[size_t(id)] = total;
      if (node.opcode() == Opcode::Dot)
        chooseTiles(id);
    }
    // Nodes between a dot and its arrays may be stored for what comes later, and are read then.
    for (auto &[id, axes] : dots)
      if (const Node &node = graph[id]; !matmulOf(graph, node)) {
        auto view = [&](size_t number, NodeId array) {
          NodeId operand = node.operands[number];
          return array == operand ? wholeOf(graph, operand) : viewOf(graph, operand, result.stored);
        };
        axes = axesOf(graph, node, view(0, axes.lhsArray), view(1, axes.rhsArray));
      }
  }

  // A dot in tiles reads its operands from arrays. To make one only for this is worth it where elements are read often.
  void chooseTiles(NodeId id) {
    const Node &node = graph[id];
    std::optional<Matmul> matmul = matmulOf(graph, node);
    DotAxes axes = matmul ? axesOf(*matmul) : axesOf(graph, node, operandOf(node, 0), operandOf(node, 1));
    if (matmul)
      axes.lhsArray = node.operands[0], axes.rhsArray = node.operands[1];
    else if (!isTiled(axes, options.leastProducts) || !isWorthReading(axes.lhsArray, axes.column.size) ||
             !isWorthReading(axes.rhsArray, axes.row.size))
      return;
    for (NodeId array : {axes.lhsArray, axes.rhsArray})
      if (isMade(graph[array]))
        result.stored[size_t(array)] = true;
    dots[id] = axes;
  }

  bool isWorthReading(NodeId array, int64_t reads) const {
    constexpr int64_t leastReads = 4, mostBytes = int64_t(1) << 28;
    const hlo::Shape &shape = graph[array].shape;
    return !isMade(graph[array]) || result.stored[size_t(array)] ||
           (reads >= leastReads && shape.elementCount() * hlo::elementSizeBytes(shape.type) <= mostBytes);
  }

  /// Where a tile reads an operand: in the array that it is moved from, if the elements of its rows or of its columns
  /// are contiguous there.
  ArrayView operandOf(const Node &dot, size_t number) const {
    ArrayView whole = wholeOf(graph, dot.operands[number]), view = viewOf(graph, dot.operands[number], result.stored);
    const ArrayView &other = wholeOf(graph, dot.operands[1 - number]);
    DotAxes axes = number == 0 ? axesOf(graph, dot, view, other) : axesOf(graph, dot, other, view);
    int64_t outer = number == 0 ? axes.row.lhs : axes.column.rhs, inner = number == 0 ? axes.depth.lhs : axes.depth.rhs;
    return std::min(outer, inner) <= 1 ? view : whole;
  }

  bool isReadOften(const Node &node, const Node &user, int64_t cost) const {
    switch (user.opcode()) {
    case Opcode::While:
      return true; // the loop's arrays begin as copies
    case Opcode::Dot:
      return cost > 4 || (isMade(node) && matmulOf(graph, user)); // whose operands are read as matrices
    case Opcode::Broadcast:
    case Opcode::Gather:
      return cost >= worthStoring && user.shape.elementCount() > 2 * node.shape.elementCount();
    case Opcode::AllGather:
      return !options.fuseCollectives || (isMade(node) && matmulAfter(user) >= 0); // which reads the own part in place
    default:
      return hlo::isCollective(user.opcode()) && !options.fuseCollectives;
    }
  }

  /// The matmul that is the only reader of what is gathered, or -1.
  NodeId matmulAfter(const Node &gather) const {
    if (gather.opcode() != Opcode::AllGather || gather.users.size() != 1)
      return -1;
    return matmulOf(graph, graph[gather.users[0]]) ? gather.users[0] : -1;
  }

  /// The stored nodes and collectives whose code reads `id` from where it is.
  std::set<NodeId> readersOf(NodeId id) const {
    std::set<NodeId> readers;
    std::set<NodeId> seen;
    std::function<void(NodeId)> visit = [&](NodeId at) {
      for (NodeId user : graph[at].users)
        if (result.stored[size_t(user)])
          readers.insert(user);
        else if (seen.insert(user).second)
          visit(user);
    };
    visit(id);
    return readers;
  }

  /// Whether the code of `root` reads `wanted` only at its own element.
  bool readsInPlace(NodeId root, NodeId wanted) const {
    std::set<NodeId> seen;
    bool fine = true;
    std::map<NodeId, bool> known;
    std::function<bool(NodeId)> contains = [&](NodeId id) -> bool {
      if (id == wanted || result.stored[size_t(id)])
        return id == wanted;
      auto [entry, isNew] = known.try_emplace(id, false);
      if (isNew) {
        bool found = std::any_of(graph[id].operands.begin(), graph[id].operands.end(), contains);
        known[id] = found;
        return found;
      }
      return entry->second;
    };
    std::function<void(NodeId, bool)> visit = [&](NodeId id, bool isRoot) {
      if (id == wanted || (result.stored[size_t(id)] && !isRoot) || !seen.insert(id).second)
        return;
      const Node &node = graph[id];
      bool keeps = hlo::isElementwise(node.opcode()) || node.opcode() == Opcode::Reshape ||
                   (node.opcode() == Opcode::Bitcast && node.shape.hasDefaultLayout() &&
                    graph.operand(node, 0).shape.hasDefaultLayout());
      for (NodeId operand : node.operands) {
        bool sameElements = keeps && graph[operand].shape.elementCount() == node.shape.elementCount() &&
                            graph[operand].shape.isScalar() == node.shape.isScalar();
        if (sameElements)
          visit(operand, false);
        else
          fine &= !contains(operand);
      }
    };
    visit(root, true);
    return fine;
  }

  bool isPlainKernel(NodeId id) const {
    const Node &node = graph[id];
    return result.stored[size_t(id)] && isMade(node) && node.opcode() != Opcode::While &&
           node.opcode() != Opcode::Constant && !hlo::isCollective(node.opcode());
  }

  /// Whether every stored node that `root` reads is there when the step of node `at` runs, or is among `also`.
  bool isReady(NodeId root, NodeId at, const std::set<NodeId> &also) const {
    for (NodeId leaf : result.leavesOf(graph, root)) {
      bool always = graph[leaf].opcode() == Opcode::Parameter || graph[leaf].opcode() == Opcode::Constant;
      if (!always && placeOf(leaf) > at && !also.count(leaf))
        return false;
    }
    return true;
  }

  /// The node at whose step this one is computed.
  NodeId placeOf(NodeId id) const {
    auto moved = movedTo.find(id);
    return moved == movedTo.end() ? id : moved->second;
  }

  bool isResult(NodeId id) const {
    return std::find(graph.results.begin(), graph.results.end(), id) != graph.results.end();
  }

  void fuse(NodeId id) {
    Step step{.kind = Step::Kind::Collective, .node = id};
    if (options.fuseCollectives)
      addMatmul(step);
    if (step.matmul > id) {
      takeReaders(step, step.matmul);
      collectives[id] = step;
      return;
    }
    std::set<NodeId> readers = readersOf(id), made;
    if (options.fuseCollectives)
      made = addEpilogues(step, id, readers);
    if (options.fuseCollectives && step.matmul < 0 && !addRows(step, made) &&
        graph[id].shape.elementCount() <= options.largestTail) {
      std::set<NodeId> withTail = made;
      addTail(step, withTail);
    }
    // A tail reads it from its buffer, a row has it at hand.
    step.keepsResult = isResult(id);
    for (NodeId reader : readers)
      step.keepsResult |= !made.count(reader);
    collectives[id] = step;
  }

  /// Element-wise code of one of `readers` that can be computed from each tile of `id`, which the step makes, becomes
  /// part of the step. Returns what did.
  std::set<NodeId> addEpilogues(Step &step, NodeId id, const std::set<NodeId> &readers) {
    std::set<NodeId> made;
    for (NodeId reader : readers) {
      const Node &node = graph[reader];
      bool sameSize = node.shape.elementCount() == graph[id].shape.elementCount();
      bool fused = isPlainKernel(reader) && !mustStore(node) && sameSize && !movedTo.count(reader) &&
                   !rowSteps.count(reader) && readsInPlace(reader, id) && isReady(reader, step.node, {}) &&
                   readsMadeInPlace(step, id, reader, made);
      if (fused) {
        step.epilogues.push_back(reader);
        made.insert(reader);
        movedTo[reader] = step.node;
      }
    }
    return made;
  }

  /// Whether `reader` reads what the step makes but `id` only at its own element, and of that only what is `made`.
  bool readsMadeInPlace(const Step &step, NodeId id, NodeId reader, const std::set<NodeId> &made) const {
    return std::ranges::all_of(result.leavesOf(graph, reader), [&](NodeId leaf) {
      auto moved = movedTo.find(leaf);
      bool isMadeHere = leaf != id && moved != movedTo.end() && moved->second == step.node;
      return !isMadeHere || (made.count(leaf) && readsInPlace(reader, leaf));
    });
  }

  /// Of a dot whose tiles the step makes.
  void takeReaders(Step &step, NodeId dot) {
    std::set<NodeId> readers = readersOf(dot);
    step.keepsResult = addEpilogues(step, dot, readers).size() < readers.size() || isResult(dot);
  }

  //===-- Matmuls ----------------------------------------------------------------------------------------------===//

  // Tiles of a matmul go to other ranks while the next ones are computed. Rows of the result are not at hand then.
  void addMatmul(Step &step) {
    const Node &node = graph[step.node];
    if (NodeId after = matmulAfter(node); after >= 0)
      return addMatmulAfter(step, after);
    NodeId dot = node.operands[0];
    std::optional<Matmul> matmul = matmulOf(graph, graph[dot]);
    if (!matmul || (node.opcode() != Opcode::AllReduce && node.opcode() != Opcode::ReduceScatter))
      return;
    step.apart = graph[dot].users.size() > 1 || isResult(dot) ? "its result is read elsewhere too"
                 : node.opcode() == Opcode::ReduceScatter && node.instruction.dimensions[0] != 0
                     ? "the parts are not whole rows"
                 : options.whyApart ? options.whyApart(node.instruction, *matmul)
                                    : "";
    if (!step.apart.empty())
      return;
    step.matmul = dot;
    result.stored[size_t(dot)] = false;
    movedTo[dot] = step.node;
  }

  // Tiles of the own rows are computed while those of other ranks arrive. The result of the gather has no buffer.
  void addMatmulAfter(Step &step, NodeId dot) {
    const Node &node = graph[step.node];
    std::optional<Matmul> matmul = matmulOf(graph, graph[dot]);
    bool isRows =
        graph[dot].operands[0] == step.node && !matmul->lhsIsTransposed && node.instruction.dimensions[0] == 0;
    step.apart = !isRows ? "what is gathered is not rows of its left operand"
                 : isResult(step.node) || graph[dot].operands[1] == step.node ? "what is gathered is read elsewhere too"
                 : !isReady(dot, step.node, {})                               ? "its other operand comes later"
                 : options.whyApart ? options.whyApart(node.instruction, *matmul)
                                    : "";
    if (!step.apart.empty())
      return;
    step.matmul = dot;
    result.stored[size_t(step.node)] = false;
    movedTo[dot] = step.node;
  }

  //===-- Rows -------------------------------------------------------------------------------------------------===//

  bool readsRowByRow(NodeId id, const std::set<NodeId> &made, const RowShape &shape) const {
    return program::readsRowByRow(graph, result.stored, id, made, shape);
  }

  /// Adds to `made` what the kernel at `at` can make of each row after `first`, in the order of the graph.
  void addRowsBehind(NodeId first, NodeId at, const RowShape &shape, std::set<NodeId> &made) {
    constexpr size_t most = 10;
    for (NodeId id = first + 1; id < NodeId(graph.nodes.size()) && made.size() < most; ++id) {
      const Node &node = graph[id];
      if (made.count(id) || !isPlainKernel(id) || movedTo.count(id) || node.opcode() == Opcode::Dot)
        continue;
      std::set<NodeId> leaves = result.leavesOf(graph, id);
      bool uses = std::any_of(leaves.begin(), leaves.end(), [&](NodeId leaf) { return made.count(leaf) > 0; });
      bool fits = node.opcode() == Opcode::Reduce ? rowReductionOf(graph, id, options.leastColumns) == shape
                                                  : shape.isRows(node.shape) || shape.isNumbers(node.shape);
      if (uses && fits && isReady(id, at, made) && readsRowByRow(id, made, shape))
        made.insert(id);
    }
  }

  void setRows(Step &step, const std::set<NodeId> &made, const RowShape &shape) {
    step.columns = shape.columns;
    for (NodeId id : made) {
      if (hlo::isCollective(graph[id].opcode()))
        continue;
      step.rows.push_back(id);
      if (id != step.node)
        movedTo[id] = step.node;
      bool isKept = isResult(id);
      for (NodeId reader : readersOf(id))
        isKept |= !made.count(reader);
      if (isKept)
        step.kept.insert(id);
    }
  }

  /// Whether parts and slices of the result can be whole rows.
  bool canTakeRows(NodeId collective) const {
    const Node &node = graph[collective];
    if (node.opcode() == Opcode::AllReduce)
      return true;
    return node.opcode() == Opcode::ReduceScatter && node.instruction.dimensions[0] == 0;
  }

  // A reduction of the collective's rows, and what is made of it: residual add and normalisation. Each tile is then a
  // row, of which everything is computed at once.
  bool addRows(Step &step, std::set<NodeId> &made) {
    if (!canTakeRows(step.node) || (options.takesRows && !options.takesRows(graph[step.node].instruction)))
      return false;
    std::set<NodeId> all = made;
    all.insert(step.node);
    for (NodeId id = step.node + 1; id < NodeId(graph.nodes.size()); ++id) {
      std::optional<RowShape> shape = rowReductionOf(graph, id, options.leastColumns);
      if (!shape || !shape->isRows(graph[step.node].shape) || movedTo.count(id) || !isPlainKernel(id))
        continue;
      std::set<NodeId> leaves = result.leavesOf(graph, id);
      if (std::none_of(leaves.begin(), leaves.end(), [&](NodeId leaf) { return all.count(leaf) > 0; }) ||
          !isReady(id, step.node, all) || !readsRowByRow(id, all, *shape))
        continue;
      addRowsBehind(step.node, step.node, *shape, all);
      step.epilogues.clear();
      setRows(step, all, *shape);
      made = all;
      return true;
    }
    return false;
  }

  // The same where no collective is: what a row reduction is made of, and what is made of it, are one kernel at its
  // place.
  void gatherRows(NodeId id) {
    std::optional<RowShape> shape = rowReductionOf(graph, id, options.leastColumns);
    if (!shape)
      return;
    std::set<NodeId> made = {id};
    for (NodeId leaf : result.leavesOf(graph, id)) {
      if (!isPlainKernel(leaf) || mustStore(graph[leaf]) || movedTo.count(leaf) || !shape->isRows(graph[leaf].shape))
        continue;
      std::set<NodeId> readers = readersOf(leaf), with = made;
      with.insert(leaf);
      bool isEarly = std::any_of(readers.begin(), readers.end(), [&](NodeId reader) { return placeOf(reader) < id; });
      if (!isEarly && readsRowByRow(id, with, *shape))
        made = with;
    }
    addRowsBehind(id, id, *shape, made);
    Step step{.kind = Step::Kind::Kernel, .node = id};
    setRows(step, made, *shape);
    rowSteps[id] = step;
  }

  // Another reduction of what the kernel made, and what is made of its result. A row is always reduced as a tile.
  void addTail(Step &step, std::set<NodeId> &made) {
    made.insert(step.node);
    bool reduces = false;
    for (NodeId id = step.node + 1; id < NodeId(graph.nodes.size()) && step.tail.size() < 4; ++id) {
      if (made.count(id) || !isPlainKernel(id) || movedTo.count(id) || graph[id].opcode() == Opcode::Dot ||
          rowReductionOf(graph, id, options.leastColumns))
        continue;
      std::set<NodeId> leaves = result.leavesOf(graph, id);
      bool uses = std::any_of(leaves.begin(), leaves.end(), [&](NodeId leaf) { return made.count(leaf) > 0; });
      bool isReduction = graph[id].opcode() == Opcode::Reduce;
      if (!uses || !(isReduction || reduces) || !isReady(id, step.node, made) ||
          graph[id].shape.elementCount() > graph[step.node].shape.elementCount())
        continue;
      reduces |= isReduction;
      step.tail.push_back(id);
      made.insert(id);
      movedTo[id] = step.node;
    }
  }

  NodeId inPlaceOf(NodeId id) const {
    NodeId parameter = options.isLoopBody ? updatedParameter(graph, id, result.stored) : -1;
    if (parameter < 0)
      return -1;
    std::set<NodeId> readers = readersOf(parameter);
    bool isLast = std::ranges::all_of(readers, [&](NodeId reader) { return reader == id || placeOf(reader) < id; });
    return isLast ? parameter : -1;
  }

  void addStep(NodeId id) {
    const Node &node = graph[id];
    if (auto found = collectives.find(id); found != collectives.end())
      result.steps.push_back(found->second);
    else if (auto rows = rowSteps.find(id); rows != rowSteps.end())
      result.steps.push_back(rows->second);
    else if (node.opcode() == Opcode::While && node.loopFirst == id)
      result.steps.push_back({.kind = Step::Kind::Loop, .node = id});
    else if (isPlainKernel(id) && !movedTo.count(id))
      result.steps.push_back(dots.count(id) ? dotStep(id)
                                            : Step{.kind = Step::Kind::Kernel, .node = id, .inPlace = inPlaceOf(id)});
  }

  Step dotStep(NodeId id) {
    Step step{.kind = Step::Kind::Kernel, .node = id, .dot = dots[id]};
    takeReaders(step, id);
    return step;
  }

  const Graph &graph;
  const PartitionOptions &options;
  Partition result;
  std::map<NodeId, DotAxes> dots; ///< those in tiles
  std::map<NodeId, Step> collectives, rowSteps;
  std::map<NodeId, NodeId> movedTo; ///< node to the collective whose kernel makes it
};

} // namespace

std::set<NodeId> Partition::leavesOf(const Graph &graph, NodeId node) const {
  std::set<NodeId> leaves, seen;
  std::function<void(NodeId)> visit = [&](NodeId id) {
    for (NodeId operand : graph[id].operands)
      if (stored[size_t(operand)])
        leaves.insert(operand);
      else if (seen.insert(operand).second)
        visit(operand);
  };
  visit(node);
  return leaves;
}

Partition partition(const Graph &graph, const PartitionOptions &options) {
  return Partitioner(graph, options).run();
}

} // namespace heddle::program
