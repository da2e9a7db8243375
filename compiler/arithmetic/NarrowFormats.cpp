// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Floating-point formats under 32 bits. They travel as integers of their width; here they become f32 and come back,
// with integer arithmetic that vectorises, keeps denormals and rounds to nearest even. A processor's own bf16
// conversion is not used: x86's flushes denormals.
#include "compiler/arithmetic/Numbers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace heddle::arithmetic;

namespace {
/// The layout of an 8-bit format: sign, exponent, `mantissa` bits.
struct Fp8Format {
  int mantissa;
  int bias;
  int largest;       ///< magnitude code of the largest finite value
  bool hasInfinity;  ///< code largest + 1 is infinity, above it NaN
  bool unsignedZero; ///< FNUZ: 0x80 is the only NaN and there is no -0
};
} // namespace

static Fp8Format formatOf(Type type) {
  if (isa<Float8E4M3FNType>(type))
    return {3, 7, 0x7E, false, false};
  if (isa<Float8E5M2Type>(type))
    return {2, 15, 0x7B, true, false};
  if (isa<Float8E4M3FNUZType>(type))
    return {3, 8, 0x7F, false, true};
  return {2, 16, 0x7F, false, true};
}

Value Numbers::widen(Value bits, Type from) {
  Type f32 = like(b.getF32Type(), bits), i32 = like(b.getI32Type(), bits);
  if (from.isF32() || from.isF64())
    return bits;
  if (from.isF16())
    return arith::ExtFOp::create(b, loc, f32,
                                 Value(arith::BitcastOp::create(b, loc, like(b.getF16Type(), bits), bits)));
  if (from.isBF16()) {
    Value high = arith::ShLIOp::create(b, loc, arith::ExtUIOp::create(b, loc, i32, bits),
                                       constantLike(b.getI32Type(), 16, bits));
    return arith::BitcastOp::create(b, loc, f32, high);
  }
  return widenFp8(bits, from);
}

// The magnitude bits moved to the f32's exponent and mantissa, times the difference of the biases: exact, and right for
// denormals too.
Value Numbers::widenFp8(Value bits, Type from) {
  Fp8Format format = formatOf(from);
  Type i32Type = b.getI32Type(), i32 = like(i32Type, bits), f32 = like(b.getF32Type(), bits);
  Value wide = arith::ExtUIOp::create(b, loc, i32, bits);
  auto c = [&](int64_t value) { return constantLike(i32Type, value, wide); };
  Value magnitude = arith::AndIOp::create(b, loc, wide, c(0x7F));
  Value sign = arith::ShLIOp::create(b, loc, arith::AndIOp::create(b, loc, wide, c(0x80)), c(24));
  Value shifted = arith::ShLIOp::create(b, loc, magnitude, c(23 - format.mantissa));
  Value scaled = arith::MulFOp::create(b, loc, arith::BitcastOp::create(b, loc, f32, shifted),
                                       constantLike(std::ldexp(1.0, 127 - format.bias), wide, b.getF32Type()));
  Value result = arith::OrIOp::create(b, loc, arith::BitcastOp::create(b, loc, i32, scaled), sign);
  auto choose = [&](arith::CmpIPredicate predicate, Value x, int64_t bound, Value then) {
    Value condition = arith::CmpIOp::create(b, loc, predicate, x, c(bound));
    result = arith::SelectOp::create(b, loc, condition, then, result);
  };
  if (format.unsignedZero) {
    choose(arith::CmpIPredicate::eq, wide, 0x80, c(0x7FC00000));
  } else {
    if (format.hasInfinity)
      choose(arith::CmpIPredicate::eq, magnitude, format.largest + 1,
             arith::OrIOp::create(b, loc, sign, c(0x7F800000)));
    choose(arith::CmpIPredicate::ugt, magnitude, format.largest + (format.hasInfinity ? 1 : 0), c(0x7FC00000));
  }
  return arith::BitcastOp::create(b, loc, f32, result);
}

// f64 to f32 with the last bit set when anything was lost: a second rounding to 22 bits or fewer is then as good as
// one.
Value Numbers::roundToOdd(Value x) {
  Type f32 = like(b.getF32Type(), x), i32 = like(b.getI32Type(), x);
  auto c = [&](int64_t value) { return constantLike(b.getI32Type(), value, x); };
  Value near = arith::TruncFOp::create(b, loc, f32, x), back = arith::ExtFOp::create(b, loc, x.getType(), near);
  Value bits = arith::BitcastOp::create(b, loc, i32, near);
  Value inexact = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ONE, back, x);
  Value odd = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, arith::AndIOp::create(b, loc, bits, c(1)), c(0));
  Value above = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, math::AbsFOp::create(b, loc, back),
                                      math::AbsFOp::create(b, loc, x));
  Value step = arith::SelectOp::create(b, loc, above, c(-1), c(1));
  Value moved = arith::AddIOp::create(b, loc, bits, step);
  Value fixed = arith::SelectOp::create(b, loc, odd, bits, moved);
  return arith::BitcastOp::create(b, loc, f32, arith::SelectOp::create(b, loc, inexact, fixed, bits));
}

Value Numbers::narrowToBf16(Value x) {
  Type i32 = like(b.getI32Type(), x);
  auto c = [&](int64_t value) { return constantLike(b.getI32Type(), value, x); };
  Value bits = arith::BitcastOp::create(b, loc, i32, x);
  Value lowest = arith::AndIOp::create(b, loc, arith::ShRUIOp::create(b, loc, bits, c(16)), c(1));
  Value rounded = arith::AddIOp::create(b, loc, arith::AddIOp::create(b, loc, bits, c(0x7FFF)), lowest);
  Value isNan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, x);
  Value quiet = arith::OrIOp::create(b, loc, bits, c(0x400000));
  Value high = arith::ShRUIOp::create(b, loc, arith::SelectOp::create(b, loc, isNan, quiet, rounded), c(16));
  return arith::TruncIOp::create(b, loc, like(b.getI16Type(), x), high);
}

// Nearest even, saturating: infinities and finite values beyond the largest become the largest, NaN stays NaN.
Value Numbers::narrowToFp8(Value x, Type to) {
  Fp8Format format = formatOf(to);
  Type i32 = like(b.getI32Type(), x), f32 = x.getType();
  auto c = [&](int64_t value) { return constantLike(b.getI32Type(), value, x); };
  auto select = [&](Value condition, Value a, Value otherwise) -> Value {
    return arith::SelectOp::create(b, loc, condition, a, otherwise);
  };
  int dropped = 23 - format.mantissa, smallest = 1 - format.bias; // exponent of the smallest normal value
  Value bits = arith::BitcastOp::create(b, loc, i32, x), magnitude = arith::AndIOp::create(b, loc, bits, c(0x7FFFFFFF));
  Value sign = arith::AndIOp::create(b, loc, arith::ShRUIOp::create(b, loc, bits, c(24)), c(0x80));
  // Normal results: add half a unit (or just less), drop the bits, change the bias.
  Value lowest = arith::AndIOp::create(b, loc, arith::ShRUIOp::create(b, loc, magnitude, c(dropped)), c(1));
  Value rounded =
      arith::AddIOp::create(b, loc, arith::AddIOp::create(b, loc, magnitude, c((1 << (dropped - 1)) - 1)), lowest);
  Value code = arith::SubIOp::create(b, loc, arith::ShRUIOp::create(b, loc, rounded, c(dropped)),
                                     c(int64_t(127 - format.bias) << format.mantissa));
  // Denormal results: adding this constant leaves the unit of the format as the unit of the sum.
  Value magic = constantLike(std::ldexp(1.0, smallest - format.mantissa + 23), x, b.getF32Type());
  Value sum = arith::AddFOp::create(b, loc, arith::BitcastOp::create(b, loc, f32, magnitude), magic);
  Value denormal = arith::SubIOp::create(b, loc, arith::BitcastOp::create(b, loc, i32, sum),
                                         arith::BitcastOp::create(b, loc, i32, magic));
  Value isDenormal =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, magnitude, c(int64_t(127 + smallest) << 23));
  code = select(isDenormal, denormal, code);
  code = arith::MinUIOp::create(b, loc, code, c(format.largest));
  Value result = arith::OrIOp::create(b, loc, code, sign);
  if (format.unsignedZero) {
    Value isZero = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, code, c(0));
    result = select(isZero, c(0), result);
  }
  Value isNan = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ugt, magnitude, c(0x7F800000));
  result = select(isNan, c(format.unsignedZero ? 0x80 : 0x7F), result);
  return arith::TruncIOp::create(b, loc, like(b.getI8Type(), x), result);
}

Value Numbers::narrow(Value wide, Type to, bool towardZero) {
  if (getElementTypeOrSelf(wide.getType()).isF64())
    wide = roundToOdd(wide);
  Value result;
  if (to.isF16())
    result = arith::BitcastOp::create(b, loc, like(b.getI16Type(), wide),
                                      arith::TruncFOp::create(b, loc, like(b.getF16Type(), wide), wide));
  else
    result = to.isBF16() ? narrowToBf16(wide) : narrowToFp8(wide, to);
  if (!towardZero)
    return result;
  // One step back where rounding to nearest went away from zero (from infinity that is the largest finite value).
  Type type = getElementTypeOrSelf(result.getType());
  Value away = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, math::AbsFOp::create(b, loc, widen(result, to)),
                                     math::AbsFOp::create(b, loc, wide));
  Value back = arith::SubIOp::create(b, loc, result, constantLike(type, 1, result));
  if (isa<Float8E4M3FNUZType, Float8E5M2FNUZType>(to)) { // below the smallest negative value lies NaN, not -0
    Value nan = constantLike(type, -128, result),
          isNan = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, back, nan);
    back = arith::SelectOp::create(b, loc, isNan, constantLike(type, 0, result), back);
  }
  return arith::SelectOp::create(b, loc, away, back, result);
}

Value Numbers::convertFloat(Value value, Type from, Type to, bool towardZero) {
  if (from == to)
    return value;
  if (to.isF64()) {
    Value wide = widen(value, from);
    return wide.getType() == like(to, wide) ? wide : Value(arith::ExtFOp::create(b, loc, like(to, wide), wide));
  }
  if (to.isF32()) {
    if (!from.isF64())
      return widen(value, from);
    if (!towardZero)
      return arith::TruncFOp::create(b, loc, like(to, value), value);
    Value odd = roundToOdd(value); // toward zero: the odd neighbour may lie beyond the value
    Value bits = arith::BitcastOp::create(b, loc, like(b.getI32Type(), odd), odd);
    Value beyond =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT,
                              math::AbsFOp::create(b, loc, arith::ExtFOp::create(b, loc, value.getType(), odd)),
                              math::AbsFOp::create(b, loc, value));
    Value back = arith::SubIOp::create(b, loc, bits, constantLike(b.getI32Type(), 1, bits));
    return arith::BitcastOp::create(b, loc, odd.getType(), arith::SelectOp::create(b, loc, beyond, back, bits));
  }
  return narrow(isNarrowFloat(from) ? widen(value, from) : value, to, towardZero);
}
