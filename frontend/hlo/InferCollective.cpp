// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives: their groups must be sound, and the result follows from the group size.
#include "frontend/hlo/InferShape.h"
#include <fmt/format.h>

namespace heddle::hlo {
namespace {

/// The size of all groups. `why` says what equal sizes are needed for.
int64_t neededGroupSize(const ShapeQuery &query, const std::vector<DeviceGroup> &groups) {
  if (auto size = commonGroupSize(groups))
    return *size;
  size_t other = 0;
  while (groups[other].size() == groups[0].size())
    ++other;
  throw inputError(fmt::format("'{}' has groups of {} and of {} devices; the shapes of the results cannot match",
                               query.opcode(), groups[0].size(), groups[other].size()),
                   {"make the groups equally large"});
}

int64_t oneDimension(const ShapeQuery &query) {
  const std::vector<int64_t> &dimensions = query.instruction.dimensions;
  if (dimensions.size() != 1)
    throw inputError(fmt::format("'{}' expects exactly one dimension, got {}", query.opcode(), dimensions.size()),
                     {"write dimensions={d}"});
  return dimensions[0];
}

void checkDivisible(const ShapeQuery &query, const Shape &shape, int64_t dimension, int64_t groupSize) {
  int64_t size = shape.dimensions[size_t(dimension)];
  if (size % groupSize != 0)
    throw inputError(fmt::format("dimension size {} is not divisible by the group size {}", size, groupSize),
                     {fmt::format("'{}' cuts dimension {} of {}", query.opcode(), dimension, formatShapePlain(shape))});
}

Shape resized(const ShapeQuery &query, const Shape &shape, int64_t dimension, int64_t groupSize) {
  query.checkDimension(dimension, shape);
  Shape result = Shape::array(shape.type, shape.dimensions);
  int64_t &size = result.dimensions[size_t(dimension)];
  if (query.instruction.opcode == Opcode::AllGather) {
    if (__builtin_mul_overflow(size, groupSize, &size))
      throw inputError(fmt::format("the result of 'all-gather' of {} is too large", formatShapePlain(shape)));
  } else {
    checkDivisible(query, shape, dimension, groupSize);
    size /= query.instruction.opcode == Opcode::ReduceScatter ? groupSize : 1;
  }
  return result;
}

/// Operand j goes to member j: as many operands as members, all of one shape.
void checkTupleExchange(const ShapeQuery &query, int64_t groupSize) {
  if (int64_t(query.operandCount()) != groupSize)
    throw inputError(fmt::format("'all-to-all' without dimensions has {} operands for groups of {} devices",
                                 query.operandCount(), groupSize));
  for (size_t i = 1; i < query.operandCount(); ++i)
    if (!query.operand(i).sameAs(query.operand(0)))
      throw inputError(fmt::format("'all-to-all' takes operands of one shape, got {} and {}",
                                   formatShapePlain(query.operand(0)), formatShapePlain(query.operand(i))));
}

Shape joined(std::vector<Shape> results, bool asTuple) {
  return asTuple ? Shape::tuple(std::move(results)) : results[0];
}

} // namespace

ReductionKind checkedReduction(const ShapeQuery &query) {
  const Computation &region = query.module.computation(query.instruction.calledComputation);
  auto kind = reductionKindOf(region);
  if (!kind)
    throw inputError(
        fmt::format("reduction computation of '{}' is not a single add, multiply, maximum, minimum, and, or",
                    query.instruction.name),
        {fmt::format("computation '{}' must apply one of these to its two scalar parameters", region.name)});
  DType type = region.rootInstruction().shape.type;
  if (query.operandCount() > 0 && query.arrayOperand(0).type != type)
    throw inputError(fmt::format("'{}' of {} reduces with computation '{}' of type {}", query.opcode(),
                                 dtypeName(query.operand(0).type), region.name, dtypeName(type)));
  return *kind;
}

Shape inferCollective(const ShapeQuery &query, std::string &note) {
  const Module &module = query.module;
  Opcode opcode = query.instruction.opcode;
  if (!query.declared)
    throw inputError("the shape of a collective cannot be inferred; write it",
                     {fmt::format("as in `x = f32[8] {}(...)`", query.opcode())});
  if (query.operandCount() == 0)
    throw inputError(fmt::format("'{}' takes 1 or more operands, got 0", query.opcode()));
  std::vector<Shape> results;
  for (size_t i = 0; i < query.operandCount(); ++i)
    results.push_back(query.arrayOperand(i));
  bool asTuple = results.size() > 1;
  if (opcode == Opcode::CollectivePermute) {
    devicePairs(query.instruction, module.replicaCount, module.partitionCount);
    return joined(std::move(results), asTuple);
  }
  std::vector<DeviceGroup> groups = deviceGroups(query.instruction, module.replicaCount, module.partitionCount);
  if (opcode == Opcode::AllReduce || opcode == Opcode::CollectiveBroadcast)
    return joined(std::move(results), asTuple);

  int64_t groupSize = neededGroupSize(query, groups);
  if (opcode == Opcode::AllToAll && query.instruction.dimensions.empty()) {
    checkTupleExchange(query, groupSize);
    note = fmt::format("the groups have {} devices", groupSize);
    return Shape::tuple(std::move(results));
  }
  int64_t dimension = oneDimension(query);
  if (opcode == Opcode::AllToAll && asTuple)
    throw inputError(fmt::format("'all-to-all' with dimensions takes 1 operand, got {}", query.operandCount()));
  note = fmt::format("the groups have {} devices, the dimension is {}", groupSize, dimension);
  for (Shape &shape : results)
    shape = resized(query, shape, dimension, groupSize);
  return joined(std::move(results), asTuple);
}

} // namespace heddle::hlo
