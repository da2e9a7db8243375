// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the other files of this room are written with: types and constants of a value's shape, an operation on new
// operands.
#include "compiler/arithmetic/Numbers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace heddle::arithmetic;

bool heddle::arithmetic::isKnownMath(Operation *op) {
  return isa<math::ExpOp, math::Exp2Op, math::LogOp, math::Log2Op, math::SinOp, math::CosOp, math::TanhOp, math::SqrtOp,
             math::RsqrtOp, math::FloorOp, math::CeilOp, math::TruncOp, math::RoundEvenOp, math::RoundOp, math::ErfOp,
             math::FmaOp, math::AbsFOp, math::AbsIOp, math::CopySignOp, math::IsNaNOp, math::IsInfOp, math::IsFiniteOp,
             math::CtPopOp, math::CountLeadingZerosOp, math::CountTrailingZerosOp>(op);
}

bool heddle::arithmetic::isNarrowFloat(Type type) {
  auto real = dyn_cast<FloatType>(type);
  return real && real.getWidth() < 32;
}

Type heddle::arithmetic::like(Type scalar, Value shape) {
  if (auto vector = dyn_cast<VectorType>(shape.getType()))
    return VectorType::get(vector.getShape(), scalar);
  return scalar;
}

Value Numbers::constantLike(Type scalar, int64_t value, Value shape) {
  Type type = like(scalar, shape);
  Attribute attribute = IntegerAttr::get(scalar, APInt(scalar.getIntOrFloatBitWidth(), value, true, true));
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(vector, attribute));
  return arith::ConstantOp::create(b, loc, cast<TypedAttr>(attribute));
}

Value Numbers::constantLike(double value, Value shape, Type scalar) {
  Type type = like(scalar, shape);
  Attribute attribute = FloatAttr::get(scalar, value);
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(vector, attribute));
  return arith::ConstantOp::create(b, loc, cast<TypedAttr>(attribute));
}

Value Numbers::cloneOn(Operation *op, ValueRange operands, Type scalarResult) {
  Value shape = operands.front();
  for (Value operand : operands) // a scalar condition may select among vectors
    if (isa<VectorType>(operand.getType()))
      shape = operand;
  Operation *copy = op->cloneWithoutRegions();
  copy->setDiscardableAttrs(DictionaryAttr::get(b.getContext()));
  copy->setLoc(loc);
  copy->setOperands(operands);
  copy->getResult(0).setType(like(scalarResult, shape));
  return b.insert(copy)->getResult(0);
}
