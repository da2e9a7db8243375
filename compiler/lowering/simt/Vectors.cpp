// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reuses the vector that values were taken from, so that packing and unpacking cancel out.
#include "compiler/lowering/simt/Vectors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace heddle;

/// Where `value` was taken from, when that is a constant place in a vector.
static std::optional<std::pair<Value, int64_t>> placeInVector(Value value) {
  auto taken = value.getDefiningOp<LLVM::ExtractElementOp>();
  APInt position;
  if (!taken || !matchPattern(taken.getPosition(), m_ConstantInt(&position)))
    return std::nullopt;
  return std::make_pair(taken.getVector(), position.getSExtValue());
}

static Value number(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIntOp::create(b, value, 32);
}

Value simt::joined(ImplicitLocOpBuilder &b, ValueRange values) {
  auto count = int64_t(values.size());
  Type type = VectorType::get(count, values.front().getType());
  auto first = placeInVector(values.front());
  bool together = first && first->second % count == 0;
  for (auto [i, value] : llvm::enumerate(values)) {
    auto place = placeInVector(value);
    together = together && place && place->first == first->first && place->second == first->second + int64_t(i);
  }
  if (together && first->first.getType() == type)
    return first->first;
  if (together) {
    SmallVector<int32_t> places = llvm::to_vector(llvm::seq(int32_t(first->second), int32_t(first->second + count)));
    return LLVM::ShuffleVectorOp::create(b, first->first, first->first, places);
  }
  Value vector = LLVM::PoisonOp::create(b, type);
  for (auto [i, value] : llvm::enumerate(values))
    vector = LLVM::InsertElementOp::create(b, vector, value, number(b, int64_t(i)));
  return vector;
}

bool simt::isZero(Value value) {
  return matchPattern(value, m_Zero()) || matchPattern(value, m_PosZeroFloat());
}

SmallVector<Value> simt::apart(ImplicitLocOpBuilder &b, Value vector) {
  SmallVector<Value> values;
  for (int64_t i = 0; i < cast<VectorType>(vector.getType()).getNumElements(); ++i)
    values.push_back(LLVM::ExtractElementOp::create(b, vector, number(b, i)));
  return values;
}
