// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reduce with any region, and dot: f64 accumulates in f64, other floating types in f32, integers modulo 2^64.
#include "tests/reference/hlo/Operations.h"
#include <algorithm>

namespace heddle::hlo::reference {
namespace {

std::vector<int64_t> dimensionsBut(const Shape &shape, const std::vector<int64_t> &left) {
  std::vector<int64_t> kept;
  for (int64_t dimension = 0; dimension < shape.rank(); ++dimension)
    if (std::find(left.begin(), left.end(), dimension) == left.end())
      kept.push_back(dimension);
  return kept;
}

Value scalarAt(const Value &array, int64_t index) {
  Value scalar = zeros(Shape::scalar(array.shape.type));
  copyElement(array, index, scalar, 0);
  return scalar;
}

/// One side of a dot: which of its dimensions are batch, free and contracting.
struct DotSide {
  const Value &value;
  std::vector<int64_t> batch, free, contracting;

  /// `result` is an index of the result whose free part of this side begins at `freeBegin`.
  int64_t position(const Index &result, size_t freeBegin, const Index &contracted) const {
    Index index(value.shape.dimensions.size());
    for (size_t i = 0; i < batch.size(); ++i)
      index[size_t(batch[i])] = result[i];
    for (size_t i = 0; i < free.size(); ++i)
      index[size_t(free[i])] = result[freeBegin + i];
    for (size_t i = 0; i < contracting.size(); ++i)
      index[size_t(contracting[i])] = contracted[i];
    return linearIndex(value.shape.dimensions, index);
  }
};

DotSide sideOf(const Value &value, const std::vector<int64_t> &batch, const std::vector<int64_t> &contracting) {
  std::vector<int64_t> named = batch;
  named.insert(named.end(), contracting.begin(), contracting.end());
  return {value, batch, dimensionsBut(value.shape, named), contracting};
}

} // namespace

Value evaluateReduce(const Instruction &instruction, const Operands &operands, const ReductionStep &step) {
  size_t count = operands.size() / 2;
  std::vector<int64_t> kept = dimensionsBut(operands[0]->shape, instruction.dimensions);
  std::vector<Value> results;
  for (size_t i = 0; i < count; ++i)
    results.push_back(zeros(count == 1 ? instruction.shape : instruction.shape.elements[i]));
  for (size_t i = 0; i < count; ++i)
    for (int64_t position = 0; position < results[i].shape.elementCount(); ++position)
      copyElement(*operands[count + i], 0, results[i], position);
  int64_t next = 0;
  forEachIndex(operands[0]->shape.dimensions, [&](const Index &index) {
    Index target;
    for (int64_t dimension : kept)
      target.push_back(index[size_t(dimension)]);
    int64_t position = linearIndex(results[0].shape.dimensions, target);
    std::vector<Value> arguments;
    for (size_t i = 0; i < count; ++i)
      arguments.push_back(scalarAt(results[i], position));
    for (size_t i = 0; i < count; ++i)
      arguments.push_back(scalarAt(*operands[i], next));
    std::vector<Value> reduced = step(arguments);
    for (size_t i = 0; i < count; ++i)
      copyElement(reduced[i], 0, results[i], position);
    ++next;
  });
  return count == 1 ? results[0] : tupleOf(std::move(results));
}

Value evaluateDot(const Instruction &instruction, const Operands &operands) {
  const DotDimensions &dot = instruction.dot;
  DotSide left = sideOf(*operands[0], dot.lhsBatch, dot.lhsContracting);
  DotSide right = sideOf(*operands[1], dot.rhsBatch, dot.rhsContracting);
  std::vector<int64_t> contracted;
  for (int64_t dimension : dot.lhsContracting)
    contracted.push_back(left.value.shape.dimensions[size_t(dimension)]);
  Value result = zeros(instruction.shape);
  DType leftType = left.value.shape.type, rightType = right.value.shape.type, type = instruction.shape.type;
  bool wide = leftType == DType::F64 || rightType == DType::F64 || type == DType::F64;
  int64_t next = 0;
  forEachIndex(instruction.shape.dimensions, [&](const Index &index) {
    uint64_t integerSum = 0;
    double sum = 0;
    forEachIndex(contracted, [&](const Index &inner) {
      const uint8_t *a = left.value.at(left.position(index, left.batch.size(), inner));
      const uint8_t *b = right.value.at(right.position(index, left.batch.size() + left.free.size(), inner));
      if (!isFloating(type)) {
        integerSum += uint64_t(loadInteger(leftType, a)) * uint64_t(loadInteger(rightType, b));
        return;
      }
      double product = loadFloat(leftType, a) * loadFloat(rightType, b);
      sum = wide ? sum + product : double(float(sum) + float(product));
    });
    if (isFloating(type))
      storeFloat(type, sum, result.at(next++));
    else
      storeInteger(type, int64_t(integerSum), result.at(next++));
  });
  return result;
}

} // namespace heddle::hlo::reference
