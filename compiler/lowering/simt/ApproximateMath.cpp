// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// erf and tanh in f32 by the chip's exp2, for kernels that may have approximations: half the instructions, or fewer, of
// the expansions that have the same bits on every device (compiler/transforms/Math*.cpp).
#include "compiler/lowering/simt/ElementCode.h"
#include "compiler/lowering/simt/Vectors.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace heddle::simt;

/// In each element of something like `type`, f32 or a vector of them.
static Value f32Of(ImplicitLocOpBuilder &b, Type type, float value) {
  Attribute element = b.getF32FloatAttr(value);
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(b, DenseElementsAttr::get(vector, element));
  return arith::ConstantOp::create(b, cast<TypedAttr>(element));
}

Value ElementCode::approximateExp2s(Value x) {
  Values powers = isa<VectorType>(x.getType()) ? Values(apart(b, x)) : Values{x};
  for (Value &power : powers)
    power = target.approximateExp2(b, power, /*flushes=*/true);
  return isa<VectorType>(x.getType()) ? joined(b, powers) : powers.front();
}

//===-- erf ------------------------------------------------------------------------------------------------------===//

// Weighted minimax fits by Lawson's iteration on 1500 Chebyshev points, rounded to f32. Of sampled f32 the worst error
// is 1.2 units in the last place, with an exact exp2.
/// erf(x) / x - 1 over x^2 in [0, 0.9^2].
static constexpr float nearZero[] = {0.12837915122509003f,  -0.3761252462863922f,  0.11282140761613846f,
                                     -0.02677890844643116f, 0.005011963192373514f, -0.0006090360693633556f};
/// -log2(erfc(x)) / x - 1 over x in [0.9, 4].
static constexpr float farOut[] = {0.6281101107597351f,  0.9171203374862671f,    0.15189681947231293f,
                                   -0.0330464169383049f, 0.0046454425901174545f, -0.00030959516880102456f};

// Both ranges have a polynomial of one degree, so that one is computed, with the coefficients of the range. Beyond 4
// erf is 1: the polynomial stays that of 4, its factor -x grows. NaN comes through as that factor.
Value ElementCode::approximateErf(Value x) {
  auto number = [&](float value) { return f32Of(b, x.getType(), value); };
  Value size = math::AbsFOp::create(b, x);
  Value isFar = arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, size, number(0.9f));
  auto either = [&](Value far, Value near) -> Value { return arith::SelectOp::create(b, isFar, far, near); };
  Value argument = either(arith::MinNumFOp::create(b, size, number(4)), arith::MulFOp::create(b, x, x));
  Value sum;
  for (size_t i = std::size(farOut); i-- > 0;) {
    Value coefficient = either(number(farOut[i]), number(nearZero[i]));
    sum = sum ? Value(math::FmaOp::create(b, sum, argument, coefficient)) : coefficient;
  }
  Value factor = either(arith::NegFOp::create(b, size), size);
  Value near = math::FmaOp::create(b, sum, factor, factor);
  Value power = approximateExp2s(near);
  Value result = either(arith::SubFOp::create(b, number(1), power), near);
  return math::CopySignOp::create(b, result, x);
}

//===-- tanh -----------------------------------------------------------------------------------------------------===//

// 1 - 2 / (e^2x + 1), and x + x^3 q(x^2) for small x, where that would cancel. Coefficients: as MathExponential.cpp.
Value ElementCode::approximateTanh(Value x) {
  static constexpr float small[] = {-0.333333343f, 0.133333221f,    -0.0539640635f,
                                    0.0218119025f, -0.00849924795f, 0.00248761475f};
  auto number = [&](float value) { return f32Of(b, x.getType(), value); };
  Value size = math::AbsFOp::create(b, x), square = arith::MulFOp::create(b, x, x), sum;
  for (size_t i = std::size(small); i-- > 0;)
    sum = sum ? Value(math::FmaOp::create(b, sum, square, number(small[i]))) : number(small[i]);
  Value near = math::FmaOp::create(b, arith::MulFOp::create(b, size, square), sum, size);
  Value power = approximateExp2s(arith::MulFOp::create(b, size, number(2.8853900817779268f))); // 2 log2 e
  Value above = arith::AddFOp::create(b, power, number(1));
  Values parts = isa<VectorType>(x.getType()) ? Values(apart(b, above)) : Values{above};
  for (Value &part : parts)
    part = target.fastDivide(b, f32Of(b, b.getF32Type(), 2), part);
  Value quotient = isa<VectorType>(x.getType()) ? joined(b, parts) : parts.front();
  Value isNear = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, size, number(0.5625f));
  Value far = arith::SubFOp::create(b, number(1), quotient);
  Value result = arith::SelectOp::create(b, isNear, near, far);
  return math::CopySignOp::create(b, result, x);
}
