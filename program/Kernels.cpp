// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes the kernel of each step: element by element, by rows, or a collective with its prologue and epilogue.
#include "program/Kernels.h"
#include "collectives/kernel/CollectiveKernel.h"
#include "collectives/kernel/CompileKernel.h"
#include "compiler/dialects/ttg/TritonGpu.h"
#include "program/Conversion.h"
#include "program/KernelFrame.h"
#include "program/NarrowTypes.h"
#include "program/RowKernels.h"
#include "program/Types.h"
#include "support/Error.h"
#include <algorithm>
#include <bit>
#include <fmt/format.h>

using namespace mlir;
using heddle::hlo::Opcode;
using heddle::tile::TileWriter;

namespace heddle::program {
namespace {

/// On GPUs a thread of four warps has one access of 16 bytes of 16-bit elements.
constexpr int64_t gpuInstanceElements = 1024;

/// One tile of a stored node: `index` is i64.
void writeTile(TileWriter &w, const Graph &graph, Expression &expression, NodeId id, Value pointer, Value index,
               Value mask) {
  const Node &node = graph[id];
  PositionPtr position = expression.at(index, node.shape.dimensions);
  Value value = toMemory(w, expression.evaluate(id, position, mask), node.shape.type);
  w.store(w.offset(pointer, index), w.like(value, index), mask);
}

/// A tile of the update of a dynamic-update-slice, in the array that it updates.
void writeUpdate(TileWriter &w, const Graph &graph, Expression &expression, NodeId id, Value pointer, Value index,
                 Value mask) {
  NodeId update = graph[id].operands[1];
  const hlo::Shape &shape = graph[update].shape;
  PositionPtr position = expression.at(index, shape.dimensions);
  Value value = toMemory(w, expression.evaluate(update, position, mask), shape.type);
  Value where = w.like(expression.updatedIndex(id, position), index);
  w.store(w.offset(pointer, where), w.like(value, index), mask);
}

int64_t tileSize(int64_t elements) {
  return std::clamp<int64_t>(int64_t(std::bit_ceil(uint64_t(std::max<int64_t>(1, elements)))), 4, instanceElements);
}

} // namespace

static StepKernel makeMatmulKernel(const Graph &graph, const Partition &partition, const Step &step, const Chip &chip,
                                   KernelCache *cache);

StepKernel makeKernel(const Graph &graph, const Partition &partition, const Step &step, const Chip &chip,
                      KernelCache *cache) {
  if (step.columns)
    return makeRowKernel(graph, partition, step, chip, cache);
  if (step.dot)
    return makeMatmulKernel(graph, partition, step, chip, cache);
  NodeId id = step.node;
  const Node &node = graph[id];
  StepKernel kernel;
  kernel.name = node.instruction.name;
  bool isInPlace = step.inPlace >= 0;
  std::set<NodeId> leaves = partition.leavesOf(graph, id);
  kernel.inputs.assign(leaves.begin(), leaves.end());
  kernel.outputs = {id};
  int64_t elements = (isInPlace ? graph.operand(node, 1) : node).shape.elementCount(), size = tileSize(elements);
  if (chip.vendor != Vendor::Host)
    size = std::min(size, gpuInstanceElements);
  kernel.blocks = (elements + size - 1) / size;
  if (elements == 0)
    return kernel;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadProgramDialects(context);
  TileWriter w(context);
  SmallVector<Value> arguments = w.begin("compute", argumentsOf(w, graph, kernel));
  Expression expression = makeExpression(w, graph, kernel, arguments);
  Value block = triton::GetProgramIdOp::create(w.b, triton::ProgramDim::X);
  Value first = w.mul(w.extend(block, 64), w.i64(size)), index = w.add(w.range(size), first);
  Value mask = elements % size ? w.less(index, w.i64(elements)) : Value();
  (isInPlace ? writeUpdate : writeTile)(w, graph, expression, id, arguments[kernel.inputs.size()], index, mask);
  CompileOptions options;
  options.chip = &chip;
  options.exactMath = true;
  finishKernel(kernel, *w.end(), options, cache);
  return kernel;
}

//===-- Collectives ----------------------------------------------------------------------------------------------===//

static Reduction reductionOf(hlo::ReductionKind kind) {
  switch (kind) {
  case hlo::ReductionKind::Add:
    return Reduction::Sum;
  case hlo::ReductionKind::Multiply:
    return Reduction::Product;
  case hlo::ReductionKind::Minimum:
    return Reduction::Minimum;
  case hlo::ReductionKind::Maximum:
    return Reduction::Maximum;
  case hlo::ReductionKind::And:
    return Reduction::And;
  case hlo::ReductionKind::Or:
    return Reduction::Or;
  }
  throw internalError("unknown reduction");
}

std::optional<CollectiveKind> kindOf(Opcode opcode) {
  switch (opcode) {
  case Opcode::AllReduce:
    return CollectiveKind::AllReduce;
  case Opcode::AllGather:
    return CollectiveKind::AllGather;
  case Opcode::ReduceScatter:
    return CollectiveKind::ReduceScatter;
  case Opcode::AllToAll:
    return CollectiveKind::AllToAll;
  case Opcode::CollectivePermute:
    return CollectiveKind::Permute;
  case Opcode::CollectiveBroadcast:
    return CollectiveKind::Broadcast;
  default:
    return std::nullopt;
  }
}

Collective collectiveOf(const Graph &graph, NodeId id, int ranks, const std::vector<int> &sources) {
  const Node &node = graph[id];
  const hlo::Instruction &instruction = node.instruction;
  const hlo::Shape &operand = graph.operand(node, 0).shape;
  bool isReduction = instruction.collective && instruction.collective->reduction;
  if (isReduction && isNarrow(operand.type))
    throw inputError(fmt::format("{}`{}` reduces elements of type {}, which devices do not add",
                                 locationPrefix(*graph.module, instruction), instruction.name,
                                 hlo::dtypeName(operand.type)),
                     {"convert them to f32, s32 or another type before"});
  Collective collective;
  collective.type = *bufferType(operand.type);
  collective.ranks = ranks;
  auto before = [&](const hlo::Shape &shape) {
    int64_t product = 1;
    for (int64_t i = 0; i < instruction.dimensions[0]; ++i)
      product *= shape.dimensions[size_t(i)];
    return product;
  };
  auto cut = [&](const hlo::Shape &whole) { // `whole` has all parts along the dimension
    collective.outer = before(whole);
    collective.inner = collective.outer ? whole.elementCount() / collective.outer / ranks : 0;
  };
  collective.outer = 1;
  collective.inner = operand.elementCount();
  collective.kind = kindOf(instruction.opcode).value();
  if (collective.kind == CollectiveKind::AllGather)
    cut(node.shape);
  else if (collective.kind == CollectiveKind::ReduceScatter || collective.kind == CollectiveKind::AllToAll)
    cut(operand);
  else if (collective.kind == CollectiveKind::Permute)
    collective.sources = sources;
  if (instruction.collective->reduction)
    collective.reduction = reductionOf(*instruction.collective->reduction);
  try {
    checkCollective(collective);
  } catch (const Error &error) {
    throw Error(error.kind, locationPrefix(*graph.module, instruction) + error.what(), error.notes);
  }
  return collective;
}

namespace {

class FusedOperands : public CollectiveOperands {
public:
  FusedOperands(const Graph &graph, const Step &step, const StepKernel &kernel)
      : graph(graph), step(step), kernel(kernel) {}

  std::vector<TileWriter::Argument> arguments(TileWriter &w) const override { return argumentsOf(w, graph, kernel); }

  Value input(TileWriter &w, ValueRange arguments, Value index, Value mask, Value) const override {
    NodeId operand = graph[step.node].operands[0];
    Expression expression = makeExpression(w, graph, kernel, arguments);
    const hlo::Shape &shape = graph[operand].shape;
    PositionPtr position = expression.at(index, shape.dimensions);
    Value value = toMemory(w, expression.evaluate(operand, position, mask), shape.type);
    // Elements outside are anything, but what is sent should be the same in every run.
    value = w.like(value, index);
    return mask ? w.select(mask, value, w.constant(elementOf(value), 0, value)) : value;
  }

  void output(TileWriter &w, ValueRange arguments, Value index, Value mask, Value tile, Value first) const override {
    beginOutput(w, arguments, index, mask, first)(tile);
  }

  RestOfOutput beginOutput(TileWriter &w, ValueRange arguments, Value index, Value mask, Value first) const override {
    auto expression = std::make_shared<Expression>(makeExpression(w, graph, kernel, arguments));
    if (step.columns)
      return beginRow(w, expression, arguments.drop_front(kernel.inputs.size()), index, mask, first);
    const hlo::Shape &shape = graph[step.node].shape;
    PositionPtr position = expression->at(index, shape.dimensions);
    auto positionIn = [this, position](NodeId id) {
      auto here = std::make_shared<Position>();
      here->dimensions = graph[id].shape.dimensions;
      here->linear = position->linear;
      return here;
    };
    for (NodeId epilogue : step.epilogues)
      expression->preload(epilogue, positionIn(epilogue), mask, {step.node});
    return [=, this, &w](Value tile) {
      size_t next = kernel.inputs.size();
      if (step.keepsResult)
        w.store(w.offset(arguments[next++], index), tile, mask);
      expression->bindValue(step.node, position, fromMemory(w, tile, graph[step.node].shape.type));
      for (NodeId epilogue : step.epilogues) {
        Value value = expression->evaluate(epilogue, positionIn(epilogue), mask);
        value = w.like(toMemory(w, value, graph[epilogue].shape.type), index);
        w.store(w.offset(arguments[next++], index), value, mask);
      }
    };
  }

  // One program instance: what it stored it may read again, when its threads have met.
  void finish(TileWriter &w, ValueRange arguments) const override {
    if (!step.tail.empty())
      triton::gpu::BarrierOp::create(w.b, triton::gpu::BarrierMemory::All);
    size_t next = kernel.inputs.size() + kernel.outputs.size() - step.tail.size();
    for (NodeId id : step.tail) {
      // While it is being made, its own buffer is not where it is read from.
      Expression own = makeExpression(w, graph, kernel, arguments);
      for (size_t i = 0; i < kernel.outputs.size(); ++i)
        if (kernel.outputs[i] != id)
          own.bindBuffer(kernel.outputs[i], arguments[kernel.inputs.size() + i]);
      int64_t elements = graph[id].shape.elementCount(), size = tileSize(elements);
      w.forLoop(w.i64((elements + size - 1) / size), {}, [&](Value number, ValueRange) -> TileWriter::Values {
        Value index = w.add(w.range(size), w.mul(number, w.i64(size)));
        own.forget();
        writeTile(w, graph, own, id, arguments[next], index, w.less(index, w.i64(elements)));
        return {};
      });
      triton::gpu::BarrierOp::create(w.b, triton::gpu::BarrierMemory::All);
      ++next;
    }
  }

protected:
  static Type elementOf(Value value) { return triton::elementTypeOf(value.getType()); }

private:
  RestOfOutput beginRow(TileWriter &w, const std::shared_ptr<Expression> &expression, ValueRange outputs, Value index,
                        Value mask, Value first) const {
    const hlo::Shape &shape = graph[step.node].shape;
    RowShape rows{shape.elementCount() / step.columns, step.columns};
    Value last = w.i64(shape.elementCount() - step.columns);
    Value exists = mask ? w.compare(arith::CmpIPredicate::sle, first, last) : Value();
    Row row = makeRow(w, *expression, rows, first, index, /*mayBeAbsent=*/bool(mask));
    expression->bindRow(row);
    preloadRow(graph, *expression, step, mask, step.node);
    return [=, this, &w](Value tile) {
      ValueRange kept = outputs;
      if (step.keepsResult) {
        w.store(w.offset(kept[0], index), tile, mask);
        kept = kept.drop_front();
      }
      const hlo::Shape &result = graph[step.node].shape;
      expression->bindValue(step.node, expression->rowElements(result.dimensions), fromMemory(w, tile, result.type));
      writeRow(w, graph, *expression, step, row, kept, mask, exists);
    };
  }

protected:
  const Graph &graph;
  const Step &step;
  const StepKernel &kernel;
};

/// The operand is a matmul: the collective is of its tiles, one after the other, each a row of the plan.
class MatmulOperands : public FusedOperands {
public:
  MatmulOperands(const Graph &graph, const Step &step, const StepKernel &kernel, const MatmulTiles &tiles)
      : FusedOperands(graph, step, kernel), tiles(tiles) {}

  bool hasCostlyInput() const override { return true; }

  Value input(TileWriter &w, ValueRange arguments, Value, Value mask, Value first) const override {
    MatmulWriter matmul(w, tiles);
    MatmulWriter::Place place = placeOf(w, matmul, first);
    Value lhs = operand(arguments, 0);
    Value tile = matmul.compute(place, matmul.rowsOf(lhs, place.firstRow), operand(arguments, 1));
    // What is beyond the result is sent too.
    Value exists;
    (void)matmul.indexOf(place, exists);
    mask = !mask ? exists : !exists ? mask : w.bitAnd(mask, exists);
    return mask ? w.select(mask, tile, w.constant(elementOf(tile), 0, tile)) : tile;
  }

  RestOfOutput beginOutput(TileWriter &w, ValueRange arguments, Value, Value mask, Value first) const override {
    MatmulWriter matmul(w, tiles);
    Value exists, index = matmul.indexOf(placeOf(w, matmul, first), exists);
    mask = !mask ? exists : !exists ? mask : w.bitAnd(mask, exists);
    return FusedOperands::beginOutput(w, arguments, index, mask, first);
  }

private:
  /// Of the last tile, where slices have more tiles than there are.
  MatmulWriter::Place placeOf(TileWriter &w, MatmulWriter &matmul, Value first) const {
    Value number = w.divide(first, w.i64(tiles.tileElements()));
    return matmul.placeOf(w.binary<arith::MinSIOp>(number, w.i64(tiles.parts * tiles.tilesOfPart() - 1)));
  }
  Value operand(ValueRange arguments, size_t number) const {
    NodeId id = graph[step.matmul].operands[number];
    auto found = std::ranges::find(kernel.inputs, id);
    return arguments[size_t(found - kernel.inputs.begin())];
  }
  const MatmulTiles tiles;
};

/// A matmul reads what is gathered. The arguments are its two operands, of which the left one is this rank's part, and
/// its result.
class GatherMatmulOperands : public CollectiveOperands {
public:
  /// `made`: of the matmul.
  GatherMatmulOperands(const Graph &graph, const Step &made, const StepKernel &kernel, ElementType type,
                       const MatmulTiles &tiles)
      : graph(graph), kernel(kernel), plain(type), result(graph, made, kernel), tiles(tiles) {}

  std::vector<TileWriter::Argument> arguments(TileWriter &w) const override { return argumentsOf(w, graph, kernel); }
  Value input(TileWriter &w, ValueRange arguments, Value index, Value mask, Value first) const override {
    return plain.input(w, arguments, index, mask, first);
  }
  void output(TileWriter &, ValueRange, Value, Value, Value, Value) const override {}

  int64_t piecesOfInput() const override { return tiles.tilesOfPart(); }
  Value lastOfPiece(TileWriter &w, Value piece) const override {
    Value rows = w.add(MatmulWriter(w, tiles).placeOf(piece).row, w.i64(tiles.tileRows));
    rows = w.binary<arith::MinSIOp>(rows, w.i64(tiles.partRows()));
    return w.sub(w.mul(rows, w.i64(tiles.shape.depth)), w.i64(1));
  }
  void writePiece(TileWriter &w, ValueRange arguments, Value rank, Value piece, Value input) const override {
    MatmulWriter matmul(w, tiles);
    MatmulWriter::Place place = matmul.placeOf(piece);
    Value tile = matmul.compute(place, input, arguments[1]), exists, index = matmul.indexOf(place, exists);
    Value first = w.mul(rank, w.i64(tiles.partRows() * tiles.shape.columns));
    result.output(w, arguments, w.add(index, first), exists, tile, {});
  }

private:
  const Graph &graph;
  const StepKernel &kernel;
  const BufferOperands plain;
  const FusedOperands result;
  const MatmulTiles tiles;
};

} // namespace

/// Adds the arguments of a dot's epilogues to those of its operands, and the outputs.
static void addEpilogues(const Graph &graph, const Partition &partition, const Step &step, StepKernel &kernel) {
  std::set<NodeId> leaves;
  for (NodeId epilogue : step.epilogues)
    leaves.merge(partition.leavesOf(graph, epilogue));
  for (const std::vector<NodeId> &known : {kernel.inputs, step.epilogues, {step.node}})
    for (NodeId id : known) // what it stores itself it has at hand
      leaves.erase(id);
  kernel.inputs.insert(kernel.inputs.end(), leaves.begin(), leaves.end());
  if (step.keepsResult)
    kernel.outputs.push_back(step.node);
  kernel.outputs.insert(kernel.outputs.end(), step.epilogues.begin(), step.epilogues.end());
}

/// The kernel of a dot in tiles, one for each block.
static StepKernel makeMatmulKernel(const Graph &graph, const Partition &partition, const Step &step, const Chip &chip,
                                   KernelCache *cache) {
  const Node &node = graph[step.node];
  const DotAxes &axes = *step.dot;
  std::optional<Matmul> matrices = matmulOf(graph, node); // whose tiles are those in the kernel of a collective
  MatmulTiles tiles = matrices ? tilesOf(*matrices, 1, chip) : tilesOfDot(axes, chip);
  StepKernel kernel;
  kernel.name = node.instruction.name;
  kernel.inputs = {axes.lhsArray, axes.rhsArray};
  addEpilogues(graph, partition, step, kernel);
  kernel.blocks = tiles.parts * tiles.tilesOfPart();
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadProgramDialects(context);
  TileWriter w(context);
  SmallVector<Value> arguments = w.begin("matmul", argumentsOf(w, graph, kernel));
  MatmulWriter matmul(w, tiles, axes);
  Value block = triton::GetProgramIdOp::create(w.b, triton::ProgramDim::X);
  MatmulWriter::Place place = matmul.placeOf(w.extend(block, 64));
  Value lhs = w.offset(arguments[0], w.i64(axes.lhsFirst)), rhs = w.offset(arguments[1], w.i64(axes.rhsFirst));
  Value exists, index = matmul.indexOf(place, exists);
  if (tiles.parts > 1) {
    MatmulWriter::Offsets first = matmul.offsetsOf(place.part, axes.batch);
    lhs = w.offset(lhs, first.lhs), rhs = w.offset(rhs, first.rhs), index = w.add(index, first.result);
  }
  Value tile = matmul.compute(place, lhs, rhs);
  FusedOperands(graph, step, kernel).output(w, arguments, index, exists, tile, {});
  CompileOptions options;
  options.chip = &chip;
  options.exactMath = true;
  options.warps = tiles.warps;
  finishKernel(kernel, *w.end(), options, cache);
  return kernel;
}

/// Of the array that a collective with a matmul moves: its protocol's memory is up to four times as much.
static constexpr int64_t mostFusedBytes = 256 << 20;

/// What a block of 8 warps stores into the memory of others at once: 256 bytes for each thread, as few blocks do it.
static constexpr int64_t gatherTileBytes = 64 << 10;

/// Two ranks: of more, one shot would move more than two.
static bool takesOneShot(int64_t ranks) {
  return ranks <= 2;
}

MatmulTiles tilesBeside(CollectiveKind kind, int64_t ranks, const Matmul &matmul, const Chip &chip) {
  if (kind == CollectiveKind::AllReduce)
    return tilesOf(matmul, 1, chip, takesOneShot(ranks));
  return tilesOf(matmul, ranks, chip);
}

int mostBlocksBeside(CollectiveKind kind, int64_t ranks) {
  return kind == CollectiveKind::AllReduce && !takesOneShot(ranks) ? maxCollectiveBlocks : maxMatmulBlocks;
}

// Of sums whole tiles are staged.
std::string whyNoRoom(CollectiveKind kind, int64_t ranks, const Matmul &matmul, const Chip &chip) {
  MatmulTiles tiles = tilesBeside(kind, ranks, matmul, chip);
  int64_t moved = kind == CollectiveKind::AllGather
                      ? matmul.rows * matmul.depth * hlo::bitWidth(matmul.type) / 8
                      : tiles.parts * tiles.tilesOfPart() * tiles.tileElements() * hlo::bitWidth(matmul.result) / 8;
  return moved > mostFusedBytes
             ? fmt::format("it moves {} bytes; a kernel of both has room for {}", moved, mostFusedBytes)
             : "";
}

static MatmulTiles tilesOfStep(const Graph &graph, const Step &step, const Chip &chip, const Collective &collective) {
  return tilesBeside(collective.kind, collective.ranks, *matmulOf(graph, graph[step.matmul]), chip);
}

std::string describeTiles(const Graph &graph, const Step &step, const Plan &plan) {
  MatmulTiles tiles = tilesOfStep(graph, step, *plan.chip, plan.collective);
  return fmt::format("matmul          {} tiles of {}x{}, K in steps of {}\n", tiles.parts * tiles.tilesOfPart(),
                     tiles.tileRows, tiles.tileColumns, tiles.tileDepth);
}

PlanOptions planOptionsFor(const Graph &graph, const Step &step, const Chip &chip, int computeUnits,
                           Collective &collective) {
  PlanOptions options;
  options.computeUnits = computeUnits;
  MatmulTiles tiles = tilesOfStep(graph, step, chip, collective);
  bool isGpu = chip.vendor != Vendor::Host;
  options.warps = isGpu ? tiles.warps : 0;
  if (collective.kind != CollectiveKind::AllGather) {
    collective.outer = 1;
    collective.inner = tiles.tilesOfPart() * tiles.tileElements();
    options.rowElements = tiles.tileElements();
    options.costlyRows = true;
    if (collective.kind == CollectiveKind::ReduceScatter)
      options.own = &scatterFlags;
    else if (takesOneShot(collective.ranks))
      options.own = &oneShotFlags;
    else
      options.algorithm = "two_shot_packets";
    return options;
  }
  options.own = &gatherFlags;
  int64_t units = isGpu ? computeUnits ? computeUnits : std::max(1, chip.computeUnits) : 1;
  options.blocks = int(std::min<int64_t>({units, maxMatmulBlocks, tiles.tilesOfPart() * collective.ranks}));
  int64_t elements = collective.partElements(), share = (elements + options.blocks - 1) / options.blocks;
  int64_t most = gatherTileBytes / elementSizeBytes(collective.type);
  options.tileElements = std::clamp<int64_t>(int64_t(std::bit_ceil(uint64_t(share))), most / 64, most);
  options.tilesPerRound = (share + options.tileElements - 1) / options.tileElements;
  return options;
}

static StepKernel makeGatherMatmulKernel(const Graph &graph, const Partition &partition, const Step &step,
                                         const Plan &plan) {
  StepKernel kernel;
  kernel.name = graph[step.matmul].instruction.name;
  kernel.inputs = {graph[step.node].operands[0], graph[step.matmul].operands[1]};
  Step made{.node = step.matmul, .epilogues = step.epilogues, .keepsResult = step.keepsResult};
  addEpilogues(graph, partition, made, kernel);
  kernel.blocks = plan.blocks;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadProgramDialects(context);
  MatmulTiles tiles = tilesOfStep(graph, step, *plan.chip, plan.collective);
  GatherMatmulOperands operands(graph, made, kernel, plan.collective.type, tiles);
  finishKernel(kernel, *writeKernel(context, plan, operands), compileOptionsOf(plan));
  return kernel;
}

StepKernel makeCollectiveKernel(const Graph &graph, const Partition &partition, const Step &step, const Plan &plan) {
  if (step.matmul > step.node)
    return makeGatherMatmulKernel(graph, partition, step, plan);
  StepKernel kernel;
  kernel.name = graph[step.node].instruction.name;
  std::set<NodeId> leaves;
  NodeId operand = graph[step.node].operands[0];
  auto add = [&](NodeId id) {
    std::set<NodeId> more = partition.leavesOf(graph, id);
    leaves.insert(more.begin(), more.end());
  };
  if (step.matmul == operand)
    leaves.insert(graph[operand].operands.begin(), graph[operand].operands.end());
  else if (partition.stored[size_t(operand)])
    leaves.insert(operand);
  else
    add(operand);
  if (step.keepsResult)
    kernel.outputs.push_back(step.node);
  for (const std::vector<NodeId> &made : {step.epilogues, step.tail, step.rows})
    for (NodeId id : made) {
      add(id);
      if (!step.columns || step.kept.count(id))
        kernel.outputs.push_back(id);
    }
  for (const std::vector<NodeId> &made : {kernel.outputs, step.rows})
    for (NodeId id : made)
      leaves.erase(id);
  leaves.erase(step.node);
  kernel.inputs.assign(leaves.begin(), leaves.end());
  kernel.blocks = plan.rounds == 0 ? 0 : plan.blocks;
  if (kernel.blocks == 0)
    return kernel;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadProgramDialects(context);
  auto finish = [&](const CollectiveOperands &operands) {
    finishKernel(kernel, *writeKernel(context, plan, operands), compileOptionsOf(plan));
  };
  if (step.matmul < 0) {
    finish(FusedOperands(graph, step, kernel));
  } else {
    finish(MatmulOperands(graph, step, kernel, tilesOfStep(graph, step, *plan.chip, plan.collective)));
  }
  return kernel;
}

} // namespace heddle::program
