// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts of an expression that are loops: reductions and dots, which carry sums over the positions they fold.
#include "program/Conversion.h"
#include "program/Elementwise.h"
#include "program/Expression.h"
#include "program/NarrowTypes.h"
#include "program/Rows.h"
#include "support/Error.h"
#include <cmath>
#include <fmt/format.h>

using namespace mlir;
using namespace heddle::triton;
using heddle::hlo::DType;
using heddle::hlo::Opcode;
using heddle::tile::TileWriter;

namespace heddle::program {

static int64_t productOf(const std::vector<int64_t> &sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    product *= size;
  return product;
}

TileWriter::Values Expression::overAll(const std::vector<int64_t> &sizes, TileWriter::Values carried, Value like,
                                       function_ref<TileWriter::Values(const std::vector<Value> &, ValueRange)> body) {
  return w.forLoop(w.i64(productOf(sizes)), carried, [&](Value step, ValueRange values) {
    auto outer = std::move(memo);
    memo.clear();
    auto position = std::make_shared<Position>();
    position->dimensions = sizes;
    position->linear = w.truncate(step, elementBits(getElementTypeOrSelf(like.getType())));
    TileWriter::Values next = body(coordinatesOf(*position), values);
    memo = std::move(outer);
    return next;
  });
}

// The region's operations on tiles; its parameters are `arguments`.
std::vector<Value> Expression::applyRegion(const hlo::Computation &region, const std::vector<Value> &arguments) {
  std::vector<std::vector<Value>> values;
  for (const hlo::Instruction &instruction : region.instructions) {
    SmallVector<Value> operands;
    SmallVector<DType> types;
    if (instruction.opcode != Opcode::Tuple)
      for (int operand : instruction.operands) {
        operands.push_back(values[size_t(operand)].front());
        types.push_back(region.instructions[size_t(operand)].shape.type);
      }
    if (instruction.opcode == Opcode::Parameter) {
      values.push_back({arguments[size_t(instruction.parameterNumber)]});
    } else if (instruction.opcode == Opcode::Constant) {
      Node node;
      node.instruction = instruction;
      node.shape = instruction.shape;
      auto like = std::make_shared<Position>();
      like->linear = arguments[0];
      values.push_back({constant(node, like)});
    } else if (instruction.opcode == Opcode::Tuple) {
      values.emplace_back();
      for (int operand : instruction.operands)
        values.back().push_back(values[size_t(operand)].front());
    } else if (hlo::isElementwise(instruction.opcode)) {
      values.push_back({elementwise(w, instruction, operands, types)});
    } else {
      throw inputError(fmt::format("{}`{}` in the region of a reduction is not element-wise",
                                   locationPrefix(*graph.module, instruction), opcodeName(instruction.opcode)));
    }
  }
  return values[size_t(region.root)];
}

// A sum of narrow floats is kept in f32 when the region is one operation; other regions round as they are written.
static bool accumulatesWide(const hlo::Computation &region, DType type, size_t count) {
  auto kind = hlo::reductionKindOf(region);
  return count == 1 && kind && hlo::isFloating(type) && hlo::bitWidth(type) < 32;
}

Value Expression::reduce(const Node &node, const PositionPtr &position, Value mask) {
  size_t count = node.operands.size() / 2;
  const hlo::Computation &region = graph.module->computation(node.instruction.calledComputation);
  const hlo::Shape &from = graph.operand(node, 0).shape;
  // Ascending, whatever the text has: elements are folded in row-major order.
  std::vector<int64_t> reduced = node.instruction.dimensions, sizes;
  std::sort(reduced.begin(), reduced.end());
  std::vector<bool> isReduced(from.dimensions.size());
  for (int64_t dimension : reduced) {
    isReduced[size_t(dimension)] = true;
    sizes.push_back(from.dimensions[size_t(dimension)]);
  }
  Value like = position->linear                 ? position->linear
               : position->coordinates->empty() ? scalarPlace()->linear
                                                : position->coordinates->front();
  bool wide = accumulatesWide(region, node.shape.type, count);
  auto widen = [&](Value value, DType type) { return wide ? convertElement(w, value, type, DType::F32) : value; };
  TileWriter::Values carried;
  for (size_t i = 0; i < count; ++i) {
    NodeId init = node.operands[count + i];
    carried.push_back(w.like(widen(evaluate(init, scalarPlace(), {}), graph[init].shape.type), like));
  }
  hlo::Computation wideRegion;
  if (wide) {
    wideRegion = region;
    for (hlo::Instruction &instruction : wideRegion.instructions)
      instruction.shape.type = DType::F32;
  }
  if (!position->dimensions.empty())
    (void)coordinatesOf(*position); // out here, where what comes after the loop may use them too
  TileWriter::Values results = overAll(sizes, carried, like, [&](const std::vector<Value> &inner, ValueRange sums) {
    std::vector<Value> coordinates;
    size_t kept = 0, folded = 0;
    for (size_t i = 0; i < from.dimensions.size(); ++i)
      coordinates.push_back(isReduced[i] ? w.like(inner[folded++], like) : coordinatesOf(*position)[kept++]);
    PositionPtr source = place(from.dimensions, coordinates);
    std::vector<Value> arguments(sums.begin(), sums.end());
    for (size_t i = 0; i < count; ++i)
      arguments.push_back(
          w.like(widen(evaluate(node.operands[i], source, mask), graph.operand(node, i).shape.type), like));
    std::vector<Value> combined = applyRegion(wide ? wideRegion : region, arguments);
    TileWriter::Values next2;
    for (Value value : combined)
      next2.push_back(w.like(value, like));
    return next2;
  });
  Value result = results[size_t(node.result)];
  return wide ? convertElement(w, result, DType::F32, node.shape.type) : result;
}

//===-- Rows -----------------------------------------------------------------------------------------------------===//

// What changes nothing when it takes part, not even the sign of a zero; of integers the bits.
static Value neutral(TileWriter &w, hlo::ReductionKind kind, Value like, bool isSigned) {
  Type type = elementTypeOf(like.getType());
  bool isReal = isa<FloatType>(type);
  double lowest = isSigned ? -std::exp2(type.getIntOrFloatBitWidth() - 1) : 0;
  auto constant = [&](double value) { return w.constant(type, value, like); };
  switch (kind) {
  case hlo::ReductionKind::Add:
    return constant(isReal ? -0.0 : 0);
  case hlo::ReductionKind::Multiply:
    return constant(1);
  case hlo::ReductionKind::Minimum:
    return isReal ? constant(INFINITY) : w.binary<arith::XOrIOp>(constant(-1), constant(lowest));
  case hlo::ReductionKind::Maximum:
    return constant(isReal ? -INFINITY : lowest);
  case hlo::ReductionKind::And:
    return constant(-1);
  case hlo::ReductionKind::Or:
    return constant(0);
  }
  throw internalError("unknown reduction");
}

Value Expression::reduceRow(NodeId id, Value mask) {
  const Node &node = graph[id];
  const hlo::Shape &from = graph.operand(node, 0).shape;
  hlo::Computation region = graph.module->computation(node.instruction.calledComputation);
  hlo::ReductionKind kind = *hlo::reductionKindOf(region);
  bool wide = accumulatesWide(region, node.shape.type, 1);
  if (wide)
    for (hlo::Instruction &instruction : region.instructions)
      instruction.shape.type = DType::F32;
  auto widen = [&](Value value) { return wide ? convertElement(w, value, from.type, DType::F32) : value; };
  Value row = w.like(widen(evaluate(node.operands[0], rowElements(from.dimensions), mask)), currentRow->linear);
  if (currentRow->inside)
    row = w.select(currentRow->inside, row, neutral(w, kind, row, hlo::isSignedInteger(from.type)));
  row =
      w.arranged(row, elementsPerAccess(graph, id)); // the order of the sum must not depend on where the row comes from
  Type element = elementTypeOf(row.getType());
  auto reduce = ReduceOp::create(w.b, TypeRange{element}, ValueRange{row}, 0);
  {
    OpBuilder::InsertionGuard guard(w.b);
    Location where = w.b.getLoc();
    Block *body = w.b.createBlock(&reduce.getCombineOp(), {}, {element, element}, {where, where});
    ReduceReturnOp::create(w.b, applyRegion(region, {body->getArgument(0), body->getArgument(1)}));
  }
  Value init = widen(evaluate(node.operands[1], scalarPlace(), {}));
  Value result = applyRegion(region, {init, reduce.getResult()[0]}).front();
  return wide ? convertElement(w, result, DType::F32, node.shape.type) : result;
}

Value Expression::dot(const Node &node, const PositionPtr &position, Value mask) {
  const hlo::DotDimensions &dims = node.instruction.dot;
  const hlo::Shape &lhs = graph.operand(node, 0).shape, &rhs = graph.operand(node, 1).shape;
  std::vector<int64_t> sizes;
  for (int64_t dimension : dims.lhsContracting)
    sizes.push_back(lhs.dimensions[size_t(dimension)]);
  Value like = position->linear                 ? position->linear
               : position->coordinates->empty() ? scalarPlace()->linear
                                                : position->coordinates->front();
  DType result = node.shape.type;
  bool real = hlo::isFloating(result);
  DType accumulator = real && hlo::bitWidth(result) < 64 ? DType::F32 : result;
  if (isSubByteInteger(result)) // the low bits of a sum are those of the sum of low bits
    accumulator = DType::S32;
  Type registers = registerType(*w.b.getContext(), accumulator);
  Value zero = w.constant(registers, 0, like);
  // One side's coordinates: batch dimensions come first in the result, then the free ones of the left, then the right.
  auto side = [&](const hlo::Shape &shape, const std::vector<int64_t> &batch, const std::vector<int64_t> &contracting,
                  size_t freeBegin, const std::vector<Value> &inner) {
    std::vector<Value> coordinates(shape.dimensions.size());
    for (size_t i = 0; i < batch.size(); ++i)
      coordinates[size_t(batch[i])] = coordinatesOf(*position)[i];
    for (size_t i = 0; i < contracting.size(); ++i)
      coordinates[size_t(contracting[i])] = w.like(inner[i], like);
    for (Value &coordinate : coordinates)
      if (!coordinate)
        coordinate = coordinatesOf(*position)[freeBegin++];
    return place(shape.dimensions, coordinates);
  };
  size_t lhsFree = dims.lhsBatch.size(), rhsFree = lhs.dimensions.size() - dims.lhsContracting.size();
  if (!position->dimensions.empty())
    (void)coordinatesOf(*position);
  TileWriter::Values sums = overAll(sizes, {zero}, like, [&](const std::vector<Value> &inner, ValueRange carried) {
    PositionPtr left = side(lhs, dims.lhsBatch, dims.lhsContracting, lhsFree, inner);
    PositionPtr right = side(rhs, dims.rhsBatch, dims.rhsContracting, rhsFree, inner);
    Value x = convertElement(w, evaluate(node.operands[0], left, mask), lhs.type, accumulator);
    Value y = convertElement(w, evaluate(node.operands[1], right, mask), rhs.type, accumulator);
    Value product = real ? w.binary<arith::MulFOp>(x, y) : w.mul(x, y);
    Value sum = real ? w.binary<arith::AddFOp>(carried[0], product) : w.add(carried[0], product);
    return TileWriter::Values{w.like(sum, like)};
  });
  return convertElement(w, sums[0], accumulator, result);
}

} // namespace heddle::program
