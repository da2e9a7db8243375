// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The three instructions around a division's Newton steps: scaling operands away from overflow and denormals, the last
// step that takes the scale back, and special operands. Source: CDNA 3 manual, V_DIV_SCALE, V_DIV_FMAS, V_DIV_FIXUP.
#pragma once

#include "simulator/numbers/Float.h"

namespace heddle::simulator {

template <typename T>
struct Scaled {
  T value;
  bool flag; ///< VCC: v_div_fmas takes a scale back
};

/// `operand` is the denominator or the numerator again: the one to scale.
template <typename T>
Scaled<T> divisionScale(T operand, T denominator, T numerator) {
  constexpr bool isDouble = sizeof(T) == 8;
  constexpr int scale = isDouble ? 128 : 64, farApart = isDouble ? 768 : 96, tiny = isDouble ? 53 : 23;
  if (isZero(numerator) || isZero(denominator))
    return {quietNan<T>(), false};
  bool reciprocalDenormal = isDenormal(T(1) / denominator), quotientDenormal = isDenormal(numerator / denominator);
  T larger = scaleByPower(operand, scale);
  if (exponentField(numerator) - exponentField(denominator) >= farApart)
    return {operand == denominator ? larger : operand, true};
  if (isDenormal(denominator))
    return {larger, false};
  if (reciprocalDenormal && quotientDenormal)
    return {operand == denominator ? scaleByPower(operand, -scale) : operand, true};
  if (reciprocalDenormal)
    return {scaleByPower(operand, -scale), false};
  if (quotientDenormal)
    return {operand == numerator ? larger : operand, true};
  return {exponentField(numerator) <= tiny ? larger : operand, false};
}

/// a * b + c times a power of two, rounded once.
inline float scaledFusedStep(float a, float b, float c, int exponent) {
  return float(sumToOdd(double(a) * b, double(c)) * double(scaleByPower(1.0f, exponent)));
}
inline double scaledFusedStep(double a, double b, double c, int exponent) {
  __float128 exact = __float128(a) * b + c; // of 113 bits: the product is exact
  return double(exact * __float128(scaleByPower(1.0, exponent)));
}

/// The fused step with the scale taken back: a large `c`, the quotient so far, was scaled down, a small one up.
template <typename T>
T divisionFusedStep(T a, T b, T c, bool scaled) {
  constexpr int scale = sizeof(T) == 8 ? 128 : 64;
  if (!scaled)
    return fusedMultiplyAdd(a, b, c);
  return scaledFusedStep(a, b, c, exponentField(c) > Fields<T>::bias ? scale : -scale);
}

template <typename T>
T divisionFixup(T quotient, T denominator, T numerator) {
  bool negative = isNegative(denominator) != isNegative(numerator);
  if (isNan(numerator))
    return quieted(numerator);
  if (isNan(denominator))
    return quieted(denominator);
  bool bothZero = isZero(denominator) && isZero(numerator),
       bothInfinite = isInfinite(denominator) && isInfinite(numerator);
  if (bothZero || bothInfinite)
    return fromBits<T>(Fields<T>::nan | Fields<T>::sign);
  if (isZero(denominator) || isInfinite(numerator))
    return withSignOf(fromBits<T>(Fields<T>::infinity), negative);
  if (isInfinite(denominator) || isZero(numerator))
    return withSignOf(T(0), negative);
  if constexpr (sizeof(T) > 2)
    if (exponentField(numerator) - exponentField(denominator) < -(Fields<T>::bias + Fields<T>::mantissaBits))
      return withSignOf(T(0), negative);
  // The steps before give NaN for ordinary operands only where the quotient was infinite.
  return withSignOf(isNan(quotient) ? fromBits<T>(Fields<T>::infinity) : quotient, negative);
}

} // namespace heddle::simulator
