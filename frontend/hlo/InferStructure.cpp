// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reduce and dot, tuples, and operations that call computations.
#include "frontend/hlo/InferShape.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle::hlo {
namespace {

/// Of a reduction over `count` values: 2 * count scalars to one scalar, or to a tuple of them.
void checkRegion(const ShapeQuery &query, const Computation &region, size_t count) {
  Shape expected = Shape::tuple({});
  for (size_t i = 0; i < count; ++i)
    expected.elements.push_back(Shape::scalar(query.operand(i).type));
  bool fits = region.parameters.size() == 2 * count &&
              region.rootInstruction().shape.sameAs(count == 1 ? expected.elements[0] : expected);
  for (size_t i = 0; fits && i < 2 * count; ++i)
    fits = region.parameter(i).shape.sameAs(expected.elements[i % count]);
  if (!fits)
    throw inputError(fmt::format("computation '{}' does not reduce {}", region.name, formatShapePlain(expected)),
                     {"it takes one scalar for each operand of 'reduce', values and initial values, and returns one "
                      "for each value"});
}

Shape inferReduce(const ShapeQuery &query) {
  size_t count = query.operandCount() / 2;
  if (count == 0 || query.operandCount() % 2 != 0)
    throw inputError(
        fmt::format("'reduce' takes values and as many initial values, got {} operands", query.operandCount()));
  const Shape &first = query.arrayOperand(0);
  query.checkUniqueDimensions(query.instruction.dimensions, first);
  Shape result = Shape::tuple({});
  for (size_t i = 0; i < count; ++i) {
    const Shape &value = query.arrayOperand(i), &initial = query.arrayOperand(count + i);
    if (!value.sameDimensionsAs(first))
      throw inputError(fmt::format("'reduce' takes values of the same dimensions, got {} and {}",
                                   formatShapePlain(first), formatShapePlain(value)));
    if (!initial.isScalar() || initial.type != value.type)
      throw inputError(fmt::format("'reduce' of {} takes a scalar of its type as initial value, got {}",
                                   formatShapePlain(value), formatShapePlain(initial)));
    Shape kept = Shape::array(value.type, {});
    for (int64_t dimension = 0; dimension < value.rank(); ++dimension)
      if (std::find(query.instruction.dimensions.begin(), query.instruction.dimensions.end(), dimension) ==
          query.instruction.dimensions.end())
        kept.dimensions.push_back(value.dimensions[size_t(dimension)]);
    result.elements.push_back(std::move(kept));
  }
  checkRegion(query, query.module.computation(query.instruction.calledComputation), count);
  return count == 1 ? result.elements[0] : result;
}

void checkPairedDimensions(const ShapeQuery &query, const char *what, const std::vector<int64_t> &left,
                           const std::vector<int64_t> &right) {
  const Shape &lhs = query.operand(0), &rhs = query.operand(1);
  if (left.size() != right.size())
    throw inputError(
        fmt::format("'dot' has {} {} dimensions on the left and {} on the right", left.size(), what, right.size()));
  for (size_t i = 0; i < left.size(); ++i) {
    query.checkDimension(left[i], lhs);
    query.checkDimension(right[i], rhs);
    int64_t leftSize = lhs.dimensions[size_t(left[i])], rightSize = rhs.dimensions[size_t(right[i])];
    if (leftSize != rightSize)
      throw inputError(fmt::format("'dot' of {} and {}: {} dimensions {} and {} have the sizes {} and {}",
                                   formatShapePlain(lhs), formatShapePlain(rhs), what, left[i], right[i], leftSize,
                                   rightSize));
  }
}

void appendFree(const ShapeQuery &query, const Shape &shape, std::vector<int64_t> named,
                const std::vector<int64_t> &contracting, Shape &result) {
  named.insert(named.end(), contracting.begin(), contracting.end());
  query.checkUniqueDimensions(named, shape);
  for (int64_t dimension = 0; dimension < shape.rank(); ++dimension)
    if (std::find(named.begin(), named.end(), dimension) == named.end())
      result.dimensions.push_back(shape.dimensions[size_t(dimension)]);
}

Shape inferDot(const ShapeQuery &query) {
  const Shape &lhs = query.arrayOperand(0), &rhs = query.arrayOperand(1);
  const DotDimensions &dot = query.instruction.dot;
  checkPairedDimensions(query, "batch", dot.lhsBatch, dot.rhsBatch);
  checkPairedDimensions(query, "contracting", dot.lhsContracting, dot.rhsContracting);
  DType type = query.declared && query.declared->isArray() ? query.declared->type : lhs.type;
  bool floating = isFloating(lhs.type) && isFloating(rhs.type) && isFloating(type);
  bool integer = isInteger(lhs.type) && isInteger(rhs.type) && isInteger(type);
  if ((!floating && !integer) || (!query.declared && lhs.type != rhs.type))
    throw inputError(fmt::format("'dot' of {} and {} to {} is not supported", dtypeName(lhs.type), dtypeName(rhs.type),
                                 dtypeName(type)));
  Shape result = Shape::array(type, {});
  for (int64_t dimension : dot.lhsBatch)
    result.dimensions.push_back(lhs.dimensions[size_t(dimension)]);
  appendFree(query, lhs, dot.lhsBatch, dot.lhsContracting, result);
  appendFree(query, rhs, dot.rhsBatch, dot.rhsContracting, result);
  return result;
}

Shape inferGetTupleElement(const ShapeQuery &query) {
  const Shape &tuple = query.operand(0);
  int64_t index = query.instruction.tupleIndex;
  if (!tuple.isTuple())
    throw inputError(fmt::format("'get-tuple-element' of {}, which is no tuple", formatShapePlain(tuple)));
  if (index < 0 || index >= int64_t(tuple.elements.size()))
    throw inputError(fmt::format("index {} is out of range for a tuple of {} elements", index, tuple.elements.size()));
  return tuple.elements[size_t(index)];
}

Shape inferCall(const ShapeQuery &query) {
  const Computation &called = query.module.computation(query.instruction.calledComputation);
  if (called.parameters.size() != query.operandCount())
    throw inputError(fmt::format("'{}' has {} operands, computation '{}' takes {}", query.opcode(),
                                 query.operandCount(), called.name, called.parameters.size()));
  for (size_t i = 0; i < query.operandCount(); ++i)
    if (!query.operand(i).sameAs(called.parameter(i).shape))
      throw inputError(fmt::format("operand {} of '{}' is {}, parameter {} of '{}' is {}", i, query.opcode(),
                                   formatShapePlain(query.operand(i)), i, called.name,
                                   formatShapePlain(called.parameter(i).shape)));
  return called.rootInstruction().shape;
}

Shape inferWhile(const ShapeQuery &query) {
  const Computation &condition = query.module.computation(query.instruction.condition);
  const Computation &body = query.module.computation(query.instruction.body);
  const Shape &state = query.operand(0);
  for (const Computation *called : {&condition, &body})
    if (called->parameters.size() != 1 || !called->parameter(0).shape.sameAs(state))
      throw inputError(fmt::format("computation '{}' does not take the one parameter {} of its 'while'", called->name,
                                   formatShapePlain(state)));
  const Shape &decision = condition.rootInstruction().shape;
  if (!decision.sameAs(Shape::scalar(DType::Pred)))
    throw inputError(fmt::format("the condition of 'while' returns {}, expects pred[]", formatShapePlain(decision)));
  const Shape &next = body.rootInstruction().shape;
  if (!next.sameAs(state))
    throw inputError(fmt::format("the body of 'while' turns {} into {}; both must agree", formatShapePlain(state),
                                 formatShapePlain(next)));
  return state;
}

Shape inferAfterAll(const ShapeQuery &query) {
  for (size_t i = 0; i < query.operandCount(); ++i)
    if (!query.operand(i).isToken())
      throw inputError(
          fmt::format("'after-all' takes tokens, operand {} is {}", i, formatShapePlain(query.operand(i))));
  return Shape::token();
}

Shape inferTuple(const ShapeQuery &query) {
  Shape result = Shape::tuple({});
  for (size_t i = 0; i < query.operandCount(); ++i)
    result.elements.push_back(query.operand(i));
  return result;
}

} // namespace

Shape inferContraction(const ShapeQuery &query) {
  return query.instruction.opcode == Opcode::Reduce ? inferReduce(query) : inferDot(query);
}

Shape inferStructure(const ShapeQuery &query) {
  switch (query.instruction.opcode) {
  case Opcode::Tuple:
    return inferTuple(query);
  case Opcode::GetTupleElement:
    return inferGetTupleElement(query);
  case Opcode::While:
    return inferWhile(query);
  case Opcode::AfterAll:
    return inferAfterAll(query);
  case Opcode::OptimizationBarrier:
    return query.operand(0);
  default: // fusion, call
    return inferCall(query);
  }
}

} // namespace heddle::hlo
