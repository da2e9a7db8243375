// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives by their definition: a fold in rank order for each element, and copies of parts.
#include "support/Error.h"
#include "tests/reference/hlo/Operations.h"
#include <cmath>
#include <fmt/format.h>

namespace heddle::hlo::reference {
namespace {

using Parts = std::vector<const Value *>; ///< one for each member of a group, in rank order

Opcode operationOf(ReductionKind kind) {
  constexpr Opcode operations[] = {Opcode::Add,     Opcode::Multiply, Opcode::Minimum,
                                   Opcode::Maximum, Opcode::And,      Opcode::Or};
  return operations[size_t(kind)];
}

/// Sums begin at +0.0 and products at 1, in f32 (f64 for f64), with one rounding at the end.
double foldFloats(ReductionKind kind, DType type, const std::vector<double> &values) {
  bool wide = type == DType::F64, sum = kind == ReductionKind::Add;
  double accumulator = sum ? 0.0 : 1.0;
  for (double value : values) {
    if (wide)
      accumulator = sum ? accumulator + value : accumulator * value;
    else
      accumulator = sum ? double(float(accumulator) + float(value)) : double(float(accumulator) * float(value));
  }
  return accumulator;
}

void foldElement(ReductionKind kind, const Parts &parts, int64_t index, uint8_t *result) {
  DType type = parts[0]->shape.type;
  if (isFloating(type) && (kind == ReductionKind::Add || kind == ReductionKind::Multiply)) {
    std::vector<double> values;
    for (const Value *part : parts)
      values.push_back(loadFloat(type, part->at(index)));
    storeFloat(type, foldFloats(kind, type, values), result);
    return;
  }
  std::copy(parts[0]->at(index), parts[0]->at(index) + elementSizeBytes(type), result);
  for (size_t rank = 1; rank < parts.size(); ++rank)
    computeBinary(operationOf(kind), type, result, parts[rank]->at(index), result);
}

Value fold(ReductionKind kind, const Parts &parts) {
  Value result = zeros(parts[0]->shape);
  for (int64_t i = 0; i < result.shape.elementCount(); ++i)
    foldElement(kind, parts, i, result.at(i));
  return result;
}

/// Part `number` of `count` equal ones along a dimension.
Value partOf(const Value &whole, int64_t dimension, int64_t number, int64_t count) {
  Shape shape = Shape::array(whole.shape.type, whole.shape.dimensions);
  int64_t &size = shape.dimensions[size_t(dimension)];
  size /= count;
  Value part = zeros(shape);
  int64_t next = 0;
  forEachIndex(shape.dimensions, [&](Index index) {
    index[size_t(dimension)] += number * size;
    copyElement(whole, linearIndex(whole.shape.dimensions, index), part, next++);
  });
  return part;
}

Value concatenated(const std::vector<Value> &parts, int64_t dimension) {
  Shape shape = Shape::array(parts[0].shape.type, parts[0].shape.dimensions);
  shape.dimensions[size_t(dimension)] *= int64_t(parts.size());
  Value result = zeros(shape);
  for (size_t number = 0; number < parts.size(); ++number) {
    int64_t next = 0, size = parts[0].shape.dimensions[size_t(dimension)];
    forEachIndex(parts[0].shape.dimensions, [&](Index index) {
      index[size_t(dimension)] += int64_t(number) * size;
      copyElement(parts[number], next++, result, linearIndex(shape.dimensions, index));
    });
  }
  return result;
}

/// The result for the member of `rank`, of one operand.
Value resultFor(const Instruction &instruction, const Parts &parts, size_t rank) {
  int64_t groupSize = int64_t(parts.size());
  int64_t dimension = instruction.dimensions.empty() ? 0 : instruction.dimensions[0];
  std::vector<Value> pieces;
  switch (instruction.opcode) {
  case Opcode::AllReduce:
    return fold(*instruction.collective->reduction, parts);
  case Opcode::ReduceScatter:
    return partOf(fold(*instruction.collective->reduction, parts), dimension, int64_t(rank), groupSize);
  case Opcode::AllGather:
    for (const Value *part : parts)
      pieces.push_back(*part);
    return concatenated(pieces, dimension);
  case Opcode::AllToAll:
    for (const Value *sender : parts)
      pieces.push_back(partOf(*sender, dimension, int64_t(rank), groupSize));
    return concatenated(pieces, dimension);
  default: // collective-broadcast
    return *parts[0];
  }
}

Value joined(const Shape &shape, std::vector<Value> results) {
  Value value = shape.isTuple() ? tupleOf(std::move(results)) : std::move(results[0]);
  value.shape = shape;
  return value;
}

std::vector<Value> permute(const Module &module, const Instruction &instruction,
                           const std::vector<Operands> &operands) {
  std::vector<Value> results(operands.size(), zeros(instruction.shape));
  for (auto [source, target] : devicePairs(instruction, module.replicaCount, module.partitionCount)) {
    std::vector<Value> values;
    for (const Value *operand : operands[size_t(source)])
      values.push_back(*operand);
    results[size_t(target)] = joined(instruction.shape, std::move(values));
  }
  return results;
}

} // namespace

std::vector<Value> evaluateCollective(const Module &module, const Instruction &instruction,
                                      const std::vector<Operands> &operands) {
  if (instruction.opcode == Opcode::CollectivePermute)
    return permute(module, instruction, operands);
  bool exchangesOperands = instruction.opcode == Opcode::AllToAll && instruction.dimensions.empty();
  std::vector<Value> results(operands.size());
  for (const DeviceGroup &group : deviceGroups(instruction, module.replicaCount, module.partitionCount))
    for (size_t rank = 0; rank < group.size(); ++rank) {
      std::vector<Value> values;
      for (size_t number = 0; number < operands[0].size(); ++number) {
        Parts parts;
        for (int64_t member : group)
          parts.push_back(operands[size_t(member)][number]);
        // Without dimensions, operand j goes to member j: the number is the sender's rank.
        values.push_back(exchangesOperands ? *operands[size_t(group[number])][rank]
                                           : resultFor(instruction, parts, rank));
      }
      results[size_t(group[rank])] = joined(instruction.shape, std::move(values));
    }
  return results;
}

} // namespace heddle::hlo::reference
