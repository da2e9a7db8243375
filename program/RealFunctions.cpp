// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each function is a formula for ordinary values, then selects for the exact cases.
#include "program/RealFunctions.h"
#include "program/Conversion.h"
#include <cmath>

using namespace mlir;

namespace heddle::program {

Value RealFunctions::inDouble(Value x, function_ref<Value(Value)> compute) {
  if (getElementTypeOrSelf(x.getType()).isF64())
    return compute(x);
  Value wide = arith::ExtFOp::create(w.b, shaped(w.b.getF64Type(), x), x);
  return arith::TruncFOp::create(w.b, x.getType(), compute(wide));
}

Value RealFunctions::inDouble(Value x, Value y, function_ref<Value(Value, Value)> compute) {
  Value left = w.like(x, y), right = w.like(y, x);
  if (getElementTypeOrSelf(left.getType()).isF64())
    return compute(left, right);
  Type wide = shaped(w.b.getF64Type(), left);
  Value result = compute(arith::ExtFOp::create(w.b, wide, left), arith::ExtFOp::create(w.b, wide, right));
  return arith::TruncFOp::create(w.b, left.getType(), result);
}

// Kahan: the rounding error of u = exp(x) cancels in (u - 1) / log(u). The factor that is near 1 is made first: the
// other product may overflow.
Value RealFunctions::expm1(Value x) {
  Value u = apply<math::ExpOp>(x), one = number(1, x);
  Value product = mul(sub(u, one), div(x, apply<math::LogOp>(u)));
  Value small = compare(arith::CmpFPredicate::OEQ, u, one);
  Value below = compare(arith::CmpFPredicate::OEQ, sub(u, one), number(-1, x));
  Value above = compare(arith::CmpFPredicate::OEQ, u, number(INFINITY, x));
  return w.select(small, x, w.select(below, number(-1, x), w.select(above, u, product)));
}

Value RealFunctions::log1p(Value x) {
  Value one = number(1, x), u = add(one, x), log = apply<math::LogOp>(u);
  Value product = mul(log, div(x, sub(u, one)));
  Value small = compare(arith::CmpFPredicate::OEQ, u, one);
  Value above = compare(arith::CmpFPredicate::OEQ, u, number(INFINITY, x));
  return w.select(small, x, w.select(above, u, product));
}

// exp(-x) would overflow before the result underflows.
Value RealFunctions::logistic(Value x) {
  Value one = number(1, x), small = apply<math::ExpOp>(negate(abs(x)));
  Value negative = compare(arith::CmpFPredicate::OLT, x, number(0, x));
  return div(w.select(negative, small, one), add(one, small));
}

Value RealFunctions::tangent(Value x) {
  return div(apply<math::SinOp>(x), apply<math::CosOp>(x));
}

// One Newton step repairs what exp and log lose.
Value RealFunctions::cubeRoot(Value x) {
  Value magnitude = abs(x), third = number(1.0 / 3, x);
  Value root = apply<math::ExpOp>(mul(apply<math::LogOp>(magnitude), third));
  Value better = sub(root, mul(third, sub(root, div(magnitude, mul(root, root)))));
  Value special = w.bitOr(compare(arith::CmpFPredicate::OEQ, magnitude, number(0, x)),
                          w.negate(compare(arith::CmpFPredicate::OLT, magnitude, number(INFINITY, x))));
  return w.select(special, x, copySign(better, x));
}

Value RealFunctions::sign(Value x) {
  Value zero = number(0, x);
  Value isNumber = w.bitOr(compare(arith::CmpFPredicate::OLT, x, zero), compare(arith::CmpFPredicate::OGT, x, zero));
  return w.select(isNumber, copySign(number(1, x), x), x); // zeros keep their sign, NaN stays
}

// C's pow.
Value RealFunctions::power(Value x, Value y) {
  Value zero = number(0, x), one = number(1, x), infinity = number(INFINITY, x), magnitude = abs(x);
  auto is = [&](Value a, Value b) { return compare(arith::CmpFPredicate::OEQ, a, b); };
  Value half = mul(y, number(0.5, y));
  Value isInteger = is(apply<math::FloorOp>(y), y);
  Value isOdd = w.bitAnd(isInteger, w.negate(is(apply<math::FloorOp>(half), half)));
  Value result = apply<math::ExpOp>(mul(y, apply<math::LogOp>(magnitude)));
  Value growing = compare(arith::CmpFPredicate::OGT, y, zero);
  result = w.select(is(magnitude, zero), w.select(growing, zero, infinity), result);
  result = w.select(is(magnitude, infinity), w.select(growing, infinity, zero), result);
  Value isLarge = compare(arith::CmpFPredicate::OGT, magnitude, one);
  Value yInfinite = is(abs(y), infinity);
  Value grows = compare(arith::CmpFPredicate::OEQ, w.select(isLarge, one, zero), w.select(growing, one, zero));
  result = w.select(yInfinite, w.select(is(magnitude, one), one, w.select(grows, infinity, zero)), result);
  Value isNegative = compare(arith::CmpFPredicate::OLT, copySign(one, x), zero);
  result = w.select(w.bitAnd(isNegative, isOdd), negate(result), result);
  Value finite = compare(arith::CmpFPredicate::OLT, magnitude, infinity), nonzero = w.negate(is(magnitude, zero));
  Value undefined = w.bitAnd(w.bitAnd(isNegative, w.negate(w.bitOr(isInteger, yInfinite))), w.bitAnd(finite, nonzero));
  result = w.select(undefined, number(NAN, x), result);
  auto isNan = [&](Value a) { return compare(arith::CmpFPredicate::UNO, a, a); };
  result = w.select(w.bitOr(isNan(x), isNan(y)), number(NAN, x), result);
  return w.select(w.bitOr(is(y, zero), is(x, one)), one, result);
}

// |t| <= 1; the series converges fast below tan(pi / 8), and beyond it atan t = pi/4 + atan((t - 1) / (t + 1)).
Value RealFunctions::arcTangentOfSmall(Value t) {
  Value one = number(1, t), large = compare(arith::CmpFPredicate::OGT, t, number(0.41421356237309503, t));
  Value x = w.select(large, div(sub(t, one), add(t, one)), t), square = mul(x, x), sum = number(0, t);
  for (int term = 41; term >= 1; term -= 2)
    sum = sub(number(1.0 / term, t), mul(square, sum));
  return add(mul(x, sum), w.select(large, number(M_PI / 4, t), number(0, t)));
}

Value RealFunctions::atan2(Value y, Value x) {
  Value zero = number(0, x), infinity = number(INFINITY, x), ay = abs(y), ax = abs(x);
  auto is = [&](Value a, Value b) { return compare(arith::CmpFPredicate::OEQ, a, b); };
  Value steep = compare(arith::CmpFPredicate::OGT, ay, ax);
  Value low = w.select(steep, ax, ay), high = w.select(steep, ay, ax), t = div(low, high);
  t = w.select(is(high, zero), zero, t);
  t = w.select(w.bitAnd(is(low, infinity), is(high, infinity)), number(1, x), t);
  Value angle = arcTangentOfSmall(t);
  angle = w.select(steep, sub(number(M_PI / 2, x), angle), angle);
  Value left = compare(arith::CmpFPredicate::OLT, copySign(number(1, x), x), zero);
  angle = w.select(left, sub(number(M_PI, x), angle), angle);
  Value undefined = w.bitOr(compare(arith::CmpFPredicate::UNO, x, x), compare(arith::CmpFPredicate::UNO, y, y));
  return w.select(undefined, number(NAN, x), copySign(angle, y));
}

} // namespace heddle::program
