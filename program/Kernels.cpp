// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program/Kernels.h"
#include "collectives/kernel/CollectiveKernel.h"
#include "collectives/kernel/CompileKernel.h"
#include "compiler/dialects/triton/TritonGpu.h"
#include "compiler/pipeline/CompileModule.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "program/Conversion.h"
#include "program/Expression.h"
#include "program/Rows.h"
#include "program/Types.h"
#include "support/Error.h"
#include <bit>
#include <fmt/format.h>

using namespace mlir;
using heddle::hlo::Opcode;
using heddle::tile::TileWriter;

namespace heddle::program {
namespace {

/// Elements of one program instance: enough to fill vectors, few enough to share among threads. On GPUs a thread of
/// four warps has one access of 16 bytes of 16-bit elements.
constexpr int64_t instanceElements = 4096, gpuInstanceElements = 1024;

/// Arrays of a program begin at multiples of 256 bytes.
constexpr int arrayAlignment = 16;

Type storedPointer(TileWriter &w, const Node &node) {
  return w.pointerTo(tile::storageType(*w.b.getContext(), *bufferType(node.shape.type)));
}

std::vector<TileWriter::Argument> argumentsOf(TileWriter &w, const Graph &graph, const std::vector<NodeId> &inputs,
                                              const std::vector<NodeId> &outputs) {
  std::vector<TileWriter::Argument> arguments;
  for (NodeId input : inputs)
    arguments.push_back({fmt::format("in{}", input), storedPointer(w, graph[input]), arrayAlignment});
  for (NodeId output : outputs)
    arguments.push_back({fmt::format("out{}", output), storedPointer(w, graph[output]), arrayAlignment});
  arguments.push_back({"replica", w.b.getI32Type()});
  arguments.push_back({"partition", w.b.getI32Type()});
  return arguments;
}

Expression makeExpression(TileWriter &w, const Graph &graph, const std::vector<NodeId> &inputs,
                          const std::vector<NodeId> &outputs, ValueRange arguments) {
  Expression expression(w, graph);
  for (size_t i = 0; i < inputs.size(); ++i)
    expression.bindBuffer(inputs[i], arguments[i]);
  size_t devices = inputs.size() + outputs.size();
  expression.bindDevice(arguments[devices], arguments[devices + 1]);
  return expression;
}

void loadProgramDialects(MLIRContext &context) {
  loadCollectiveDialects(context);
  context.loadDialect<math::MathDialect, triton::gpu::TritonGpuDialect>();
}

std::string textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

/// One tile of a stored node: `index` is i64.
void writeTile(TileWriter &w, const Graph &graph, Expression &expression, NodeId id, Value pointer, Value index,
               Value mask) {
  const Node &node = graph[id];
  PositionPtr position = expression.at(index, node.shape.dimensions);
  Value value = toMemory(w, expression.evaluate(id, position, mask), node.shape.type);
  w.store(w.offset(pointer, index), w.like(value, index), mask);
}

int64_t tileSize(int64_t elements) {
  return std::clamp<int64_t>(int64_t(std::bit_ceil(uint64_t(std::max<int64_t>(1, elements)))), 4, instanceElements);
}

//===-- Rows -----------------------------------------------------------------------------------------------------===//

RowShape rowShapeOf(const Graph &graph, const Step &step) {
  int64_t elements = 0;
  for (NodeId id : step.rows)
    elements =
        std::max(elements, graph[id].opcode() == Opcode::Reduce ? graph.operand(graph[id], 0).shape.elementCount()
                                                                : graph[id].shape.elementCount());
  return {elements / step.columns, step.columns};
}

/// The row that begins at element `first` (i64); `index` are its elements' places, and those of others up to the size
/// of the tile. Where `mayBeAbsent`, a row behind the last one is none, and stands for the last one.
Row makeRow(TileWriter &w, Expression &expression, const RowShape &shape, Value first, Value index, bool mayBeAbsent) {
  Row row;
  row.columns = shape.columns;
  row.linear = expression.at(index, {shape.rows, shape.columns})->linear;
  unsigned bits = triton::elementBits(row.linear.getType());
  Value number = w.divide(first, w.i64(shape.columns));
  if (mayBeAbsent)
    number = w.binary<arith::MinUIOp>(number, w.i64(shape.rows - 1));
  row.number = w.truncate(number, bits);
  row.position = w.truncate(w.range(w.sizeOf(index)), bits);
  if (w.sizeOf(index) > shape.columns)
    row.inside = w.less(row.position, w.constant(triton::elementTypeOf(row.position.getType()), double(shape.columns)));
  return row;
}

/// Reads what the step's nodes want of a row, but for what they make of each other and of `operand` (-1: none).
void preloadRow(const Graph &graph, Expression &expression, const Step &step, Value mask, NodeId operand) {
  RowShape shape = rowShapeOf(graph, step);
  std::set<NodeId> later(step.rows.begin(), step.rows.end());
  later.insert(operand);
  for (NodeId id : step.rows) {
    NodeId root = graph[id].opcode() == Opcode::Reduce ? graph[id].operands[0] : id;
    if (shape.isRows(graph[root].shape) && (root == id || !later.count(root)))
      expression.preload(root, expression.rowElements(graph[root].shape.dimensions), mask, later);
  }
}

/// Computes the step's nodes for the row that is bound and stores what is kept; `outputs` are the pointers of those, in
/// their order. `mask` (may be null) are the elements that exist, `exists` (i1, may be null) whether the row does.
void writeRow(TileWriter &w, const Graph &graph, Expression &expression, const Step &step, const Row &row,
              ValueRange outputs, Value mask, Value exists) {
  RowShape shape = rowShapeOf(graph, step);
  size_t next = 0;
  for (NodeId id : step.rows) {
    const hlo::Shape &made = graph[id].shape;
    bool isRow = shape.isRows(made);
    PositionPtr position = isRow ? expression.rowElements(made.dimensions) : expression.rowNumber(made.dimensions);
    Value value =
        graph[id].opcode() == Opcode::Reduce ? expression.reduceRow(id, mask) : expression.evaluate(id, position, mask);
    if (isRow)
      value = w.like(value, row.linear);
    expression.bindValue(id, position, value);
    if (!step.kept.count(id))
      continue;
    Value place = w.offset(outputs[next++], isRow ? row.linear : row.number);
    w.store(place, toMemory(w, value, made.type), isRow ? mask : exists);
  }
}

OwningOpRef<ModuleOp> writeRowKernel(MLIRContext &context, const Graph &graph, const Step &step,
                                     const StepKernel &kernel, int64_t rowsPerInstance) {
  TileWriter w(context);
  RowShape shape = rowShapeOf(graph, step);
  SmallVector<Value> arguments = w.begin("rows", argumentsOf(w, graph, kernel.inputs, kernel.outputs));
  Value block = w.extend(triton::GetProgramIdOp::create(w.b, triton::ProgramDim::X), 64);
  auto write = [&](Value number) {
    Expression expression = makeExpression(w, graph, kernel.inputs, kernel.outputs, arguments);
    Value first = w.mul(number, w.i64(shape.columns)), index = w.add(w.range(rowTileElements(shape.columns)), first);
    Row row = makeRow(w, expression, shape, first, index, /*mayBeAbsent=*/false);
    expression.bindRow(row);
    preloadRow(graph, expression, step, row.inside, -1);
    writeRow(w, graph, expression, step, row, ValueRange(arguments).drop_front(kernel.inputs.size()), row.inside, {});
  };
  if (rowsPerInstance == 1) {
    write(block);
    return w.end();
  }
  Value start = w.mul(block, w.i64(rowsPerInstance));
  Value count = w.binary<arith::MinSIOp>(w.sub(w.i64(shape.rows), start), w.i64(rowsPerInstance));
  w.forLoop(count, {}, [&](Value i, ValueRange) -> TileWriter::Values {
    write(w.add(start, i));
    return {};
  });
  return w.end();
}

StepKernel makeRowKernel(const Graph &graph, const Partition &partition, const Step &step, const std::string &target) {
  StepKernel kernel;
  kernel.name = graph[step.node].instruction.name;
  std::set<NodeId> leaves;
  for (NodeId id : step.rows) {
    std::set<NodeId> more = partition.leavesOf(graph, id);
    leaves.insert(more.begin(), more.end());
  }
  for (NodeId id : step.rows)
    leaves.erase(id);
  kernel.inputs.assign(leaves.begin(), leaves.end());
  kernel.outputs.assign(step.kept.begin(), step.kept.end());
  int64_t tile = rowTileElements(step.columns), rows = rowShapeOf(graph, step).rows;
  bool isHost = target == "host";
  int64_t rowsPerInstance = isHost ? std::max<int64_t>(1, instanceElements / tile) : 1;
  kernel.blocks = (rows + rowsPerInstance - 1) / rowsPerInstance;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadProgramDialects(context);
  OwningOpRef<ModuleOp> module = writeRowKernel(context, graph, step, kernel, rowsPerInstance);
  kernel.text = textOf(*module);
  CompileOptions options;
  options.target = target;
  options.exactMath = true;
  if (!isHost)
    options.warps = rowWarps(tile);
  kernel.package = compileModule(*module, kernel.name, options).package;
  return kernel;
}

} // namespace

StepKernel makeKernel(const Graph &graph, const Partition &partition, const Step &step, const std::string &target) {
  if (step.columns)
    return makeRowKernel(graph, partition, step, target);
  NodeId id = step.node;
  const Node &node = graph[id];
  StepKernel kernel;
  kernel.name = node.instruction.name;
  std::set<NodeId> leaves = partition.leavesOf(graph, id);
  kernel.inputs.assign(leaves.begin(), leaves.end());
  kernel.outputs = {id};
  int64_t elements = node.shape.elementCount(), size = tileSize(elements);
  if (target != "host")
    size = std::min(size, gpuInstanceElements);
  kernel.blocks = (elements + size - 1) / size;
  if (elements == 0)
    return kernel;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadProgramDialects(context);
  TileWriter w(context);
  SmallVector<Value> arguments = w.begin("compute", argumentsOf(w, graph, kernel.inputs, kernel.outputs));
  Expression expression = makeExpression(w, graph, kernel.inputs, kernel.outputs, arguments);
  Value block = triton::GetProgramIdOp::create(w.b, triton::ProgramDim::X);
  Value first = w.mul(w.extend(block, 64), w.i64(size)), index = w.add(w.range(size), first);
  Value mask = elements % size ? w.less(index, w.i64(elements)) : Value();
  writeTile(w, graph, expression, id, arguments[kernel.inputs.size()], index, mask);
  OwningOpRef<ModuleOp> module = w.end();
  kernel.text = textOf(*module);
  CompileOptions options;
  options.target = target;
  options.exactMath = true;
  kernel.package = compileModule(*module, kernel.name, options).package;
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

Collective collectiveOf(const Graph &graph, NodeId id, int ranks, const std::vector<int> &sources) {
  const Node &node = graph[id];
  const hlo::Instruction &instruction = node.instruction;
  const hlo::Shape &operand = graph.operand(node, 0).shape;
  Collective collective;
  collective.type = *bufferType(operand.type);
  collective.ranks = ranks;
  auto before = [&](const hlo::Shape &shape) {
    int64_t product = 1;
    for (int64_t i = 0; i < instruction.dimensions[0]; ++i)
      product *= shape.dimensions[size_t(i)];
    return product;
  };
  auto cut = [&](CollectiveKind kind, const hlo::Shape &whole) { // `whole` has all parts along the dimension
    collective.kind = kind;
    collective.outer = before(whole);
    collective.inner = collective.outer ? whole.elementCount() / collective.outer / ranks : 0;
  };
  collective.outer = 1;
  collective.inner = operand.elementCount();
  switch (instruction.opcode) {
  case Opcode::AllReduce:
    collective.kind = CollectiveKind::AllReduce;
    break;
  case Opcode::AllGather:
    cut(CollectiveKind::AllGather, node.shape);
    break;
  case Opcode::ReduceScatter:
    cut(CollectiveKind::ReduceScatter, operand);
    break;
  case Opcode::AllToAll:
    cut(CollectiveKind::AllToAll, operand);
    break;
  case Opcode::CollectivePermute:
    collective.kind = CollectiveKind::Permute;
    collective.sources = sources;
    break;
  case Opcode::CollectiveBroadcast:
    collective.kind = CollectiveKind::Broadcast;
    break;
  default:
    throw internalError("not a collective");
  }
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

  std::vector<TileWriter::Argument> arguments(TileWriter &w) const override {
    return argumentsOf(w, graph, kernel.inputs, kernel.outputs);
  }

  Value input(TileWriter &w, ValueRange arguments, Value index, Value mask) const override {
    NodeId operand = graph[step.node].operands[0];
    Expression expression = makeExpression(w, graph, kernel.inputs, kernel.outputs, arguments);
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
    auto expression = std::make_shared<Expression>(makeExpression(w, graph, kernel.inputs, kernel.outputs, arguments));
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
      Expression own = makeExpression(w, graph, kernel.inputs, kernel.outputs, arguments);
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

private:
  static Type elementOf(Value value) { return triton::elementTypeOf(value.getType()); }

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

  const Graph &graph;
  const Step &step;
  const StepKernel &kernel;
};

} // namespace

StepKernel makeCollectiveKernel(const Graph &graph, const Partition &partition, const Step &step, const Plan &plan) {
  StepKernel kernel;
  kernel.name = graph[step.node].instruction.name;
  std::set<NodeId> leaves;
  NodeId operand = graph[step.node].operands[0];
  auto add = [&](NodeId id) {
    std::set<NodeId> more = partition.leavesOf(graph, id);
    leaves.insert(more.begin(), more.end());
  };
  if (partition.stored[size_t(operand)])
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
  OwningOpRef<ModuleOp> module = writeKernel(context, plan, FusedOperands(graph, step, kernel));
  kernel.text = textOf(*module);
  kernel.package = compileModule(*module, kernel.name, compileOptionsOf(plan)).package;
  return kernel;
}

} // namespace heddle::program
