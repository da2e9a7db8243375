// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The vector unit's approximations. The manuals give error bounds, not bits. v_rcp, v_rsq and v_sqrt err as far as
// their bounds allow, 1 unit in the last place of f32 and 2^29 of f64, so that a missing Newton step shows; exact
// results stay exact, and v_rcp is right where LLVM's division depends on it. The others are rounded once. v_rcp,
// v_rsq, v_sqrt, v_exp and v_log of f32 take and give denormals as 0 whatever MODE says, because LLVM's sequences scale
// around them and a kernel may not rely on more.
#pragma once

#include "simulator/numbers/Float.h"
#include <initializer_list>

namespace heddle::simulator {

/// 2^x, to about 52 bits; |x| below 1000.
inline double powerOfTwoAt(double x) {
  double whole = __builtin_roundeven(x), t = (x - whole) * 0x1.62e42fefa39efp-1;
  double sum = 1.0 / 479001600;
  for (double factorial : {39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0})
    sum = sum * t + 1 / factorial;
  return sum * std::bit_cast<double>(uint64_t(int64_t(whole) + 1023) << 52);
}

/// log2 of a positive normal double.
inline double binaryLogarithm(double x) {
  uint64_t bits = std::bit_cast<uint64_t>(x);
  auto exponent = int64_t(bits >> 52) - 1023;
  double mantissa = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFFull) | 0x3FF0000000000000ull);
  bool upper = mantissa > 1.4142135623730951;
  mantissa = upper ? mantissa * 0.5 : mantissa;
  exponent += upper ? 1 : 0;
  double s = (mantissa - 1) / (mantissa + 1), square = s * s, sum = 1.0 / 23;
  for (double divisor : {21.0, 19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0})
    sum = sum * square + 1 / divisor;
  return double(exponent) + s * sum * 2.8853900817779268; // 2 / ln 2
}

/// sin of `quarter` turns in [-0.25, 0.25].
inline double sineOfTurns(double turns) {
  double t = turns * 6.283185307179586, square = t * t, sum = 1.0 / 51090942171709440000.0;
  for (double factorial : {-121645100408832000.0, 355687428096000.0, -1307674368000.0, 6227020800.0, -39916800.0,
                           362880.0, -5040.0, 120.0, -6.0, 1.0})
    sum = sum * square + 1 / factorial;
  return t * sum;
}

template <typename T>
T exponential2(T value) {
  double x = toDouble(value);
  double inside = x < -160 ? -160 : x > 160 ? 160 : x;
  T result = roundTo<T>(powerOfTwoAt(inside == inside ? inside : 0));
  if constexpr (sizeof(T) == 4)
    result = flushDenormal(result);
  return isNan(value) ? quieted(value) : result;
}

template <typename T>
T logarithm2(T value) {
  T used = sizeof(T) == 4 ? flushDenormal(value) : value;
  double x = toDouble(used);
  bool ordinary = x > 0 && x < std::numeric_limits<double>::infinity();
  T result = roundTo<T>(binaryLogarithm(ordinary ? x : 1));
  result = isZero(used) ? fromBits<T>(Fields<T>::infinity | Fields<T>::sign) : result;
  result = x < 0 ? quietNan<T>() : result;
  result = bitsOf(value) == Fields<T>::infinity ? value : result;
  return isNan(value) ? quieted(value) : result;
}

/// In turns. Beyond 256 turns the unit's reduction gives up: sin is 0 there and cos 1.
template <typename T, bool cosine>
T waveOfTurns(T value) {
  double x = toDouble(value);
  bool far = !(std::fabs(x) <= 256);
  double rest = far ? 0 : x - __builtin_roundeven(x);
  double folded = rest > 0.25 ? 0.5 - rest : rest < -0.25 ? -0.5 - rest : rest;
  T result = roundTo<T>(sineOfTurns(cosine ? 0.25 - std::fabs(rest) : folded));
  return isNan(value) ? quieted(value) : isInfinite(value) ? quietNan<T>() : result;
}

namespace detail {
/// The worst that a bound of 2^29 units in the last place of f64 allows.
inline double coarse(double value) {
  bool special = !(std::fabs(value) < std::numeric_limits<double>::infinity()) || isDenormal(value);
  uint64_t cut = bitsOf(value) & ~((uint64_t(1) << 29) - 1);
  return special ? value : std::bit_cast<double>(cut);
}
/// Cut to f32: off by up to one unit, and exact where the result is.
inline float cutToSingle(double value) {
  auto nearest = float(value);
  bool tooFar = std::fabs(double(nearest)) > std::fabs(value) && !isInfinite(value);
  return fromBits<float>(bitsOf(nearest) - (tooFar ? 1 : 0));
}
template <typename T, typename Function>
T approximate(T value, Function function) {
  if constexpr (std::is_same_v<T, double>)
    return coarse(function(value));
  else if constexpr (std::is_same_v<T, float>)
    return flushDenormal(cutToSingle(function(double(flushDenormal(value)))));
  else
    return halfFromDouble(function(toDouble(value)));
}
} // namespace detail

/// Fused Newton steps end right from any start, but for a mantissa of ones: the reciprocal lies beside a tie there, and
/// they stay below it. LLVM's division, which is exact on the chips, so needs the nearest number of v_rcp.
template <typename T>
T reciprocal(T value) {
  auto inverse = [](double x) { return 1 / x; };
  T approximate = detail::approximate(value, inverse);
  if constexpr (sizeof(T) == 2) {
    return approximate; // rounded once
  } else {
    constexpr auto ones = BitsOf<T>((BitsOf<T>(1) << Fields<T>::mantissaBits) - 1);
    bool isBesideTie = (bitsOf(value) & ones) == ones && !isDenormal(value) && !isDenormal(approximate);
    return isBesideTie ? flushDenormal(T(inverse(double(value)))) : approximate;
  }
}
template <typename T>
T squareRoot(T value) {
  return detail::approximate(value, [](double x) { return __builtin_sqrt(x); });
}
template <typename T>
T reciprocalSquareRoot(T value) {
  return detail::approximate(value, [](double x) { return 1 / __builtin_sqrt(x); });
}

} // namespace heddle::simulator
