// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// erf in f32 by the chip's exp2, for kernels that may have approximations: half the instructions of the expansion that
// has the same bits on every device (MathErf.cpp).
#include "compiler/lowering/simt/ElementCode.h"
#include "compiler/lowering/simt/Vectors.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace heddle::simt;

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
  Type type = x.getType();
  auto number = [&](float value) -> Value {
    Attribute element = b.getF32FloatAttr(value);
    if (auto vector = dyn_cast<VectorType>(type))
      return arith::ConstantOp::create(b, DenseElementsAttr::get(vector, element));
    return arith::ConstantOp::create(b, cast<TypedAttr>(element));
  };
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
  Values powers = isa<VectorType>(type) ? Values(apart(b, near)) : Values{near};
  for (Value &power : powers)
    power = target.approximateExp2(b, power, /*flushes=*/true);
  Value power = isa<VectorType>(type) ? joined(b, powers) : powers.front();
  Value result = either(arith::SubFOp::create(b, number(1), power), near);
  return math::CopySignOp::create(b, result, x);
}
