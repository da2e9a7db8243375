// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads a row once, computes its reductions, and writes every node that is made of it.
#include "program/RowKernels.h"
#include "compiler/dialects/ttg/TritonGpu.h"
#include "program/Conversion.h"
#include "program/KernelFrame.h"

using namespace mlir;
using heddle::hlo::Opcode;
using heddle::tile::TileWriter;

namespace heddle::program {

static RowShape rowShapeOf(const Graph &graph, const Step &step) {
  int64_t elements = 0;
  for (NodeId id : step.rows)
    elements =
        std::max(elements, graph[id].opcode() == Opcode::Reduce ? graph.operand(graph[id], 0).shape.elementCount()
                                                                : graph[id].shape.elementCount());
  return {elements / step.columns, step.columns};
}

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

static OwningOpRef<ModuleOp> writeRowKernel(MLIRContext &context, const Graph &graph, const Step &step,
                                            const StepKernel &kernel, int64_t rowsPerInstance) {
  TileWriter w(context);
  RowShape shape = rowShapeOf(graph, step);
  SmallVector<Value> arguments = w.begin("rows", argumentsOf(w, graph, kernel));
  Value block = w.extend(triton::GetProgramIdOp::create(w.b, triton::ProgramDim::X), 64);
  auto write = [&](Value number) {
    Expression expression = makeExpression(w, graph, kernel, arguments);
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

StepKernel makeRowKernel(const Graph &graph, const Partition &partition, const Step &step, const Chip &chip,
                         KernelCache *cache) {
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
  bool isHost = chip.vendor == Vendor::Host;
  int64_t rowsPerInstance = isHost ? std::max<int64_t>(1, instanceElements / tile) : 1;
  kernel.blocks = (rows + rowsPerInstance - 1) / rowsPerInstance;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadProgramDialects(context);
  OwningOpRef<ModuleOp> module = writeRowKernel(context, graph, step, kernel, rowsPerInstance);
  CompileOptions options;
  options.chip = &chip;
  options.exactMath = true;
  if (!isHost)
    options.warps = rowWarps(tile);
  finishKernel(kernel, *module, options, cache);
  return kernel;
}

} // namespace heddle::program
