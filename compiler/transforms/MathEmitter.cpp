// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The vocabulary of math expansions in terms of arith and of the few math operations that are instructions.
#include "compiler/transforms/MathEmitter.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace heddle::math {

static Type integerLike(Type type) {
  unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  Type element = IntegerType::get(type.getContext(), width);
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(vector.clone(element)) : element;
}

Emitter::Emitter(ImplicitLocOpBuilder &builder, Type type)
    : builder(builder), type(type), integerType(integerLike(type)), isDouble(getElementTypeOrSelf(type).isF64()),
      mantissaBits(isDouble ? 52 : 23) {
  assert(isDouble || getElementTypeOrSelf(type).isF32());
}

static Value constantLike(ImplicitLocOpBuilder &builder, Type type, TypedAttr value) {
  if (auto vector = dyn_cast<VectorType>(type))
    value = DenseElementsAttr::get(vector, Attribute(value));
  return arith::ConstantOp::create(builder, value);
}

Value Emitter::number(double value) const {
  return constantLike(builder, type, builder.getFloatAttr(getElementTypeOrSelf(type), value));
}

Value Emitter::integer(uint64_t value) const {
  unsigned width = isDouble ? 64 : 32;
  return constantLike(builder, integerType,
                      builder.getIntegerAttr(getElementTypeOrSelf(integerType), APInt(64, value).trunc(width)));
}

Value Emitter::add(Value a, Value b) const {
  return arith::AddFOp::create(builder, a, b);
}
Value Emitter::sub(Value a, Value b) const {
  return arith::SubFOp::create(builder, a, b);
}
Value Emitter::mul(Value a, Value b) const {
  return arith::MulFOp::create(builder, a, b);
}
Value Emitter::div(Value a, Value b) const {
  return arith::DivFOp::create(builder, a, b);
}
Value Emitter::neg(Value a) const {
  return arith::NegFOp::create(builder, a);
}
Value Emitter::fma(Value a, Value b, Value c) const {
  return mlir::math::FmaOp::create(builder, a, b, c);
}
Value Emitter::abs(Value a) const {
  return mlir::math::AbsFOp::create(builder, a);
}
Value Emitter::floor(Value a) const {
  return mlir::math::FloorOp::create(builder, a);
}
Value Emitter::sqrt(Value a) const {
  return mlir::math::SqrtOp::create(builder, a);
}
Value Emitter::copySign(Value magnitude, Value sign) const {
  return mlir::math::CopySignOp::create(builder, magnitude, sign);
}

Value Emitter::polynomial(Value x, ArrayRef<double> coefficients) const {
  Value sum = number(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    sum = fma(sum, x, number(coefficient));
  return sum;
}

Value Emitter::atLeast(Value x, double bound) const {
  Value limit = number(bound);
  return select(less(x, limit), limit, x);
}

Value Emitter::atMost(Value x, double bound) const {
  Value limit = number(bound);
  return select(less(limit, x), limit, x);
}

Value Emitter::less(Value a, Value b) const {
  return arith::CmpFOp::create(builder, arith::CmpFPredicate::OLT, a, b);
}
Value Emitter::equal(Value a, Value b) const {
  return arith::CmpFOp::create(builder, arith::CmpFPredicate::OEQ, a, b);
}
Value Emitter::select(Value condition, Value a, Value b) const {
  return arith::SelectOp::create(builder, condition, a, b);
}

Value Emitter::bits(Value a) const {
  return arith::BitcastOp::create(builder, integerType, a);
}
Value Emitter::fromBits(Value a) const {
  return arith::BitcastOp::create(builder, type, a);
}
Value Emitter::iadd(Value a, Value b) const {
  return arith::AddIOp::create(builder, a, b);
}
Value Emitter::isub(Value a, Value b) const {
  return arith::SubIOp::create(builder, a, b);
}
Value Emitter::imul(Value a, Value b) const {
  return arith::MulIOp::create(builder, a, b);
}
Value Emitter::iand(Value a, Value b) const {
  return arith::AndIOp::create(builder, a, b);
}
Value Emitter::ior(Value a, Value b) const {
  return arith::OrIOp::create(builder, a, b);
}
Value Emitter::ixor(Value a, Value b) const {
  return arith::XOrIOp::create(builder, a, b);
}
Value Emitter::shiftLeft(Value a, int amount) const {
  return arith::ShLIOp::create(builder, a, integer(amount));
}
Value Emitter::shiftRight(Value a, int amount) const {
  return arith::ShRUIOp::create(builder, a, integer(amount));
}
Value Emitter::isZero(Value a) const {
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, a, integer(0));
}

} // namespace heddle::math
