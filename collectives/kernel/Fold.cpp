// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The steps of a reduction as tile code: in f32 or f64, in the order of the ranks, rounded once.
#include "collectives/kernel/Fold.h"
#include <cmath>

using namespace mlir;
using namespace heddle::triton;

namespace heddle {

static bool isFp8(ElementType type) {
  return isFloat(type) && elementSizeBytes(type) == 1;
}

Value Fold::widen(Value element) {
  if (!isFloat(type) || elementSizeBytes(type) >= 4)
    return element;
  Type wide = RankedTensorType::get({w.sizeOf(element)}, w.b.getF32Type());
  if (isFp8(type))
    return FpToFpOp::create(w.b, wide, element, RoundingModeAttr());
  return arith::ExtFOp::create(w.b, wide, element);
}

// The conversion saturates, which is for large sums; an infinity that was among the operands stays one.
Value Fold::keepInfinities(Value accumulator, Value rounded) {
  Type byte = w.b.getI8Type(), element = elementTypeOf(rounded.getType());
  Value result = w.bitcast(rounded, byte);
  for (double sign : {1.0, -1.0}) {
    Value infinity = w.constant(elementTypeOf(accumulator.getType()), sign * INFINITY, accumulator);
    Value isInfinity = arith::CmpFOp::create(w.b, arith::CmpFPredicate::OEQ, accumulator, infinity);
    result = w.select(isInfinity, w.constant(byte, sign > 0 ? 0x7C : 0xFC, result), result);
  }
  return w.bitcast(result, element);
}

Value Fold::round(Value accumulator) {
  if (!isFloat(type) || elementSizeBytes(type) >= 4)
    return accumulator;
  Type narrow = RankedTensorType::get({w.sizeOf(accumulator)}, tile::storageType(*w.b.getContext(), type));
  if (isFp8(type)) {
    Value rounded =
        FpToFpOp::create(w.b, narrow, accumulator, RoundingModeAttr::get(w.b.getContext(), RoundingMode::NearestEven));
    return type == ElementType::F8E5M2 ? keepInfinities(accumulator, rounded) : rounded;
  }
  return arith::TruncFOp::create(w.b, narrow, accumulator);
}

Value Fold::combine(Value x, Value y) {
  bool real = isFloat(type), bits = type == ElementType::I1;
  switch (reduction) {
  case Reduction::Sum:
    return real ? w.binary<arith::AddFOp>(x, y) : w.add(x, y);
  case Reduction::Product:
    return real ? w.binary<arith::MulFOp>(x, y) : w.mul(x, y);
  case Reduction::Minimum:
    if (real)
      return w.binary<arith::MinimumFOp>(x, y);
    return bits || isUnsigned(type) ? w.binary<arith::MinUIOp>(x, y) : w.binary<arith::MinSIOp>(x, y);
  case Reduction::Maximum:
    if (real)
      return w.binary<arith::MaximumFOp>(x, y);
    return bits || isUnsigned(type) ? w.binary<arith::MaxUIOp>(x, y) : w.binary<arith::MaxSIOp>(x, y);
  case Reduction::And:
    return w.bitAnd(x, y);
  case Reduction::Or:
    return w.bitOr(x, y);
  }
  llvm_unreachable("unknown reduction");
}

Value Fold::step(Value accumulator, Value element) {
  Value wide = widen(element);
  if (accumulator)
    return combine(accumulator, wide);
  if (reduction == Reduction::Sum && isFloat(type)) // +0 + -0 is +0: a sum of zeros does not depend on their signs
    return combine(w.constant(elementTypeOf(wide.getType()), 0.0, wide), wide);
  return wide;
}

} // namespace heddle
