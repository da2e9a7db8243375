// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// exp, exp2 and tanh. Coefficients: interpolation at Chebyshev nodes with 60 digits, rounded to the type. The f32
// forms are kept short, because the speed of a softmax is that of its exponential.
#include "compiler/transforms/MathEmitter.h"

using namespace mlir;

namespace heddle::math {

// What rounds x to the nearest integer n by addition, and leaves n plus twice the exponent bias in the low bits of the
// sum: halving those gives the biased exponents of the two powers below without another addition.
static double roundingConstant(const Emitter &emit) {
  return emit.magic() + 2 * (emit.isDouble ? 1023 : 127);
}

// p * 2^n, rounded once, for `rounded` = roundingConstant + n. The power is applied in two halves, so that neither
// leaves the normal range: the first product is exact, the second overflows or rounds to a denormal as it should. Both
// are products, not additions to p's exponent, so that NaN stays NaN. Higher bits of `rounded` leave by the shifts.
static Value scaleByPower(const Emitter &emit, Value p, Value rounded) {
  Value exponents = emit.bits(rounded);
  Value half = emit.shiftRight(exponents, 1);
  for (Value exponent : {half, emit.isub(exponents, half)})
    p = emit.mul(p, emit.fromBits(emit.shiftLeft(exponent, emit.mantissaBits)));
  return p;
}

// 2^x = 2^n * 2^r with n the nearest integer. 2^r = 1 + r * q(r), so that integers come out exactly.
Value expandExp2(const Emitter &emit, Value x) {
  // (2^r - 1) / r on [-1/2, 1/2]: f32 of degree 5 (0.15 ulp), f64 of degree 11 (0.2 ulp, from rounding ln 2).
  static constexpr double single[] = {0.693147182,   0.240226507,   0.0555035695,
                                      0.00961808302, 0.00133908633, 0.000154531634};
  static constexpr double full[] = {0.69314718055994529,    0.24022650695910072,    0.055504108664821625,
                                    0.0096181291076284803,  0.0013333558146406471,  0.00015403530393370734,
                                    1.5252733841556773e-05, 1.3215486808705563e-06, 1.0178057087733941e-07,
                                    7.0548973041554995e-09, 4.4558179083360645e-10, 2.5729324177362305e-11};
  // Beyond these bounds the result has long been 0 or infinite.
  x = emit.atMost(emit.atLeast(x, emit.isDouble ? -1080 : -155), emit.isDouble ? 1030 : 130);
  Value magic = emit.number(roundingConstant(emit));
  Value rounded = emit.add(x, magic);
  Value r = emit.sub(x, emit.sub(rounded, magic));
  Value q = emit.polynomial(r, emit.isDouble ? ArrayRef<double>(full) : ArrayRef<double>(single));
  return scaleByPower(emit, emit.fma(r, q, emit.number(1)), rounded);
}

// e^x = 2^n * e^r with n = round(x / ln 2), r = x - n ln 2 in two exact-product steps; e^r = 1 + r + r^2 q(r).
Value expandExp(const Emitter &emit, Value x) {
  // (e^r - 1 - r) / r^2 on [-0.35, 0.35]: f32 of degree 4 (0.18 ulp), f64 of degree 10 (0.002 ulp).
  static constexpr double single[] = {0.5, 0.166665733, 0.0416665487, 0.00836377405, 0.00139269268};
  static constexpr double full[] = {0.5,
                                    0.16666666666666671,
                                    0.041666666666666616,
                                    0.0083333333333255443,
                                    0.0013888888888906683,
                                    0.00019841269876864356,
                                    2.4801587283434105e-05,
                                    2.7557252833516911e-06,
                                    2.7557307372089466e-07,
                                    2.5106274733573296e-08,
                                    2.0904888270467301e-09};
  x = emit.atMost(emit.atLeast(x, emit.isDouble ? -750 : -106), emit.isDouble ? 712 : 90);
  Value magic = emit.number(roundingConstant(emit));
  Value rounded = emit.fma(x, emit.number(1.4426950408889634), magic);
  Value n = emit.sub(rounded, magic);
  // ln 2 in two parts of full length; with fma the first difference is exact.
  Value r = emit.fma(n, emit.either(-0.693147182464599609375, -0.69314718055994529), x);
  r = emit.fma(n, emit.either(1.90465429995776804e-9, -2.3190468138462996e-17), r);
  Value q = emit.polynomial(r, emit.isDouble ? ArrayRef<double>(full) : ArrayRef<double>(single));
  Value one = emit.number(1);
  return scaleByPower(emit, emit.fma(r, emit.fma(r, q, one), one), rounded);
}

// tanh x = 1 - 2 / (e^2x + 1), and x + x^3 q(x^2) for small x, where that would cancel.
Value expandTanh(const Emitter &emit, Value x) {
  // (tanh(x) / x - 1) / x^2 over x^2 in [0, 0.5625^2]: f32 of degree 5, f64 of degree 11, both below 0.06 ulp.
  static constexpr double single[] = {-0.333333343, 0.133333221,    -0.0539640635,
                                      0.0218119025, -0.00849924795, 0.00248761475};
  static constexpr double full[] = {-0.33333333333333331,   0.133333333333333,       -0.053968253968202907,
                                    0.021869488533130331,   -0.0088632354371203769,  0.0035921263528222338,
                                    -0.0014558149436249654, 0.00058987881875023412,  -0.00023836459039376214,
                                    9.4277788283195032e-05, -3.3330620139971521e-05, 7.6344141851187127e-06};
  Value a = emit.abs(x), z = emit.mul(a, a), one = emit.number(1);
  Value q = emit.polynomial(z, emit.isDouble ? ArrayRef<double>(full) : ArrayRef<double>(single));
  Value small = emit.fma(emit.mul(a, z), q, a);
  Value power = expandExp(emit, emit.add(a, a));
  Value large = emit.sub(one, emit.div(emit.number(2), emit.add(power, one)));
  return emit.copySign(emit.select(emit.less(a, emit.number(0.5625)), small, large), x);
}

} // namespace heddle::math
