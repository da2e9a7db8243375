// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elementwise arithmetic on one floating-point type, f32 or f64, as a scalar or a vector: the vocabulary in which the
// expansions of math functions are written, and the list of those expansions.
#pragma once
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace heddle::math {

/// A value with the operators of its element type; comparisons and bit operations are named functions of Emitter.
class Emitter {
public:
  /// `type` is f32, f64 or a vector of them.
  Emitter(mlir::ImplicitLocOpBuilder &builder, mlir::Type type);

  mlir::ImplicitLocOpBuilder &builder;
  const mlir::Type type, integerType; ///< integers have the width of the floats
  const bool isDouble;
  const int mantissaBits; ///< stored ones: 23 or 52

  mlir::Value number(double value) const;
  mlir::Value integer(uint64_t value) const; ///< truncated to the width
  /// The constant for f32 or that for f64.
  mlir::Value either(double single, double full) const { return number(isDouble ? full : single); }

  mlir::Value add(mlir::Value a, mlir::Value b) const;
  mlir::Value sub(mlir::Value a, mlir::Value b) const;
  mlir::Value mul(mlir::Value a, mlir::Value b) const;
  mlir::Value div(mlir::Value a, mlir::Value b) const;
  mlir::Value neg(mlir::Value a) const;
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c) const; ///< a * b + c, rounded once
  mlir::Value abs(mlir::Value a) const;
  mlir::Value floor(mlir::Value a) const;
  mlir::Value sqrt(mlir::Value a) const;
  mlir::Value copySign(mlir::Value magnitude, mlir::Value sign) const;
  /// Sum of coefficients[i] * x^i by Horner's rule.
  mlir::Value polynomial(mlir::Value x, llvm::ArrayRef<double> coefficients) const;
  /// The larger (smaller) of `x` and a constant; NaN stays NaN. One instruction on x86.
  mlir::Value atLeast(mlir::Value x, double bound) const;
  mlir::Value atMost(mlir::Value x, double bound) const;

  mlir::Value less(mlir::Value a, mlir::Value b) const;  ///< false with NaN
  mlir::Value equal(mlir::Value a, mlir::Value b) const; ///< false with NaN
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) const;

  mlir::Value bits(mlir::Value a) const;     ///< float -> integer, same bits
  mlir::Value fromBits(mlir::Value a) const; ///< integer -> float, same bits
  mlir::Value iadd(mlir::Value a, mlir::Value b) const;
  mlir::Value isub(mlir::Value a, mlir::Value b) const;
  mlir::Value imul(mlir::Value a, mlir::Value b) const;
  mlir::Value iand(mlir::Value a, mlir::Value b) const;
  mlir::Value ior(mlir::Value a, mlir::Value b) const;
  mlir::Value ixor(mlir::Value a, mlir::Value b) const;
  mlir::Value shiftLeft(mlir::Value a, int amount) const;
  mlir::Value shiftRight(mlir::Value a, int amount) const; ///< logical
  mlir::Value isZero(mlir::Value a) const;                 ///< integer -> i1

  /// 1.5 * 2^mantissaBits. Added to |x| < 2^(mantissaBits - 2) it rounds x to the nearest integer, ties to even, which
  /// then stands in the low bits of the sum.
  double magic() const { return isDouble ? 0x1.8p52 : 0x1.8p23; }
};

/// A sum of two floats, `low` at most half a unit in the last place of `high`.
struct Pair {
  mlir::Value high, low;
};

mlir::Value expandExp(const Emitter &emit, mlir::Value x);
mlir::Value expandExp2(const Emitter &emit, mlir::Value x);
mlir::Value expandLog(const Emitter &emit, mlir::Value x);
mlir::Value expandLog2(const Emitter &emit, mlir::Value x);
mlir::Value expandSin(const Emitter &emit, mlir::Value x);
mlir::Value expandCos(const Emitter &emit, mlir::Value x);
mlir::Value expandErf(const Emitter &emit, mlir::Value x);
mlir::Value expandTanh(const Emitter &emit, mlir::Value x);
mlir::Value expandRsqrt(const Emitter &emit, mlir::Value x);

/// The quadrant of `x` (integer whose two low bits count) and the rest in [-pi/4, pi/4] for f64 `x` >= 2^30, by
/// multiplication with a stretch of 2/pi chosen by the exponent. Other lanes get any finite values.
Pair reduceHugeAngle(const Emitter &emit, mlir::Value x, mlir::Value &quadrant);

} // namespace heddle::math
