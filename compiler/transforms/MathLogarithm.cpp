// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// log, log2, and rsqrt. Coefficients: interpolation at Chebyshev nodes with 60 digits, rounded to the type.
#include "compiler/transforms/MathEmitter.h"
#include <limits>

using namespace mlir;

namespace heddle::math {

namespace {
/// x = 2^exponent * (1 + f), with 1 + f from `lowest` (given by its bits) to twice that.
struct Decomposed {
  Value exponent, f;
};
} // namespace

static Decomposed decompose(const Emitter &emit, Value x, uint64_t lowestBits) {
  double smallestNormal = emit.isDouble ? 0x1p-1022 : 0x1p-126;
  int bias = emit.isDouble ? 1023 : 127, shift = emit.isDouble ? 54 : 25;
  Value isSmall = emit.less(x, emit.number(smallestNormal));
  x = emit.select(isSmall, emit.mul(x, emit.number(emit.isDouble ? 0x1p54 : 0x1p25)), x);
  Value bits = emit.bits(x);
  // Distance from `lowest`, plus the bias to stay positive: its upper part is the exponent, biased.
  Value distance = emit.iadd(bits, emit.integer((uint64_t(bias) << emit.mantissaBits) - lowestBits));
  Value biased = emit.shiftRight(distance, emit.mantissaBits);
  Value m = emit.fromBits(emit.iadd(emit.isub(bits, emit.shiftLeft(biased, emit.mantissaBits)),
                                    emit.integer(uint64_t(bias) << emit.mantissaBits)));
  // An integer in the low bits of magic becomes a float by subtraction, without a conversion instruction.
  uint64_t magicBits = emit.isDouble ? 0x4338000000000000 : 0x4b400000;
  Value exponent =
      emit.sub(emit.fromBits(emit.ior(biased, emit.integer(magicBits))),
               emit.select(isSmall, emit.number(emit.magic() + bias + shift), emit.number(emit.magic() + bias)));
  return {exponent, emit.sub(m, emit.number(1))};
}

// log of 0 is -inf, of negative numbers NaN, of +inf and NaN the argument.
static Value withSpecials(const Emitter &emit, Value x, Value result) {
  double infinity = std::numeric_limits<double>::infinity();
  result = emit.select(emit.less(x, emit.number(infinity)), result, x);
  result = emit.select(emit.less(x, emit.number(0)), emit.number(std::numeric_limits<double>::quiet_NaN()), result);
  return emit.select(emit.equal(x, emit.number(0)), emit.number(-infinity), result);
}

// f^2/2 - f^3/3 + ..., so that log(1 + f) = f - this, for f64 and 1 + f in [sqrt(1/2), sqrt(2)]: with s = f / (2 + f),
// log(1 + f) = 2 atanh(s) = f - s (f - R), where R(s^2) collects the powers from s^2 on.
static Value logarithmTail(const Emitter &emit, Value f) {
  // (2 atanh(s) / s - 2) / s^2 over s^2 in [0, 0.0295], degree 6 (0.04 ulp of the logarithm).
  static constexpr double coefficients[] = {0.66666666666666696, 0.39999999999898889, 0.28571428626253836,
                                            0.22222211089379496, 0.18182892432536871, 0.15331611722055008,
                                            0.14617807153417325};
  Value s = emit.div(f, emit.add(f, emit.number(2)));
  Value z = emit.mul(s, s);
  Value r = emit.mul(z, emit.polynomial(z, coefficients));
  Value halfSquare = emit.mul(emit.mul(f, emit.number(0.5)), f);
  return emit.sub(halfSquare, emit.mul(s, emit.add(halfSquare, r)));
}

constexpr uint64_t sqrtHalfBits = 0x3fe6a09e667f3bcd;
constexpr uint64_t twoThirdsBits = 0x3f2aaaab;

// n * scale + f + low, where n * scale is exact and, when not 0, exceeds f: the rounding error of the first sum is
// recovered (fast two-sum) and joins the small term.
static Value addExactly(const Emitter &emit, Value n, Value scale, Value f, Value low) {
  Value sum = emit.fma(n, scale, f);
  Value error = emit.add(emit.fma(n, scale, emit.neg(sum)), f);
  return emit.add(sum, emit.add(error, low));
}

Value expandLog(const Emitter &emit, Value x) {
  if (emit.isDouble) {
    auto [n, f] = decompose(emit, x, sqrtHalfBits);
    // ln 2 in two parts, the first of 41 bits, so that n times it is exact.
    Value low = emit.fma(n, emit.number(-1.7239444525614835e-13), emit.neg(logarithmTail(emit, f)));
    return withSpecials(emit, x, addExactly(emit, n, emit.number(0.6931471805601177), f, low));
  }
  // (log(1 + f) - f + f^2 / 2) / f^3 on [-1/3, 1/3], degree 8 (0.06 ulp).
  static constexpr double coefficients[] = {0.333333343,  -0.249999449, 0.199999481,  -0.166733161, 0.142918676,
                                            -0.122887217, 0.109156549,  -0.124222003, 0.113306172};
  auto [n, f] = decompose(emit, x, twoThirdsBits);
  Value tail = emit.mul(emit.mul(f, f), emit.fma(f, emit.polynomial(f, coefficients), emit.number(-0.5)));
  tail = emit.fma(n, emit.number(1.42860677e-06), tail);
  // 15 bits of ln 2: n times them is exact.
  return withSpecials(emit, x, addExactly(emit, n, emit.number(0.693145752), f, tail));
}

Value expandLog2(const Emitter &emit, Value x) {
  if (emit.isDouble) {
    auto [n, f] = decompose(emit, x, sqrtHalfBits);
    // log(1 + f) as a pair, times 1 / ln 2 as a pair, plus n.
    Value tail = logarithmTail(emit, f);
    Value high = emit.sub(f, tail);
    Value low = emit.sub(emit.sub(f, high), tail);
    Value scale = emit.number(1.4426950408889634);
    Value product = emit.mul(high, scale);
    Value rest = emit.fma(high, scale, emit.neg(product));
    rest = emit.fma(low, scale, emit.fma(high, emit.number(2.0355273740931033e-17), rest));
    Value sum = emit.add(n, product);
    Value error = emit.add(emit.sub(n, sum), product);
    return withSpecials(emit, x, emit.add(sum, emit.add(error, rest)));
  }
  // log2(1 + f) / f on [-1/3, 1/3], degree 10 (0.34 ulp, from rounding 1 / ln 2). Powers of two have f = 0.
  static constexpr double coefficients[] = {1.44269502,  -0.72134757,  0.48089838,  -0.3606686,
                                            0.288534254, -0.240705386, 0.206336468, -0.175195694,
                                            0.155541465, -0.188099131, 0.171693429};
  auto [n, f] = decompose(emit, x, twoThirdsBits);
  return withSpecials(emit, x, emit.fma(f, emit.polynomial(f, coefficients), n));
}

Value expandRsqrt(const Emitter &emit, Value x) {
  return emit.div(emit.number(1), emit.sqrt(x));
}

} // namespace heddle::math
