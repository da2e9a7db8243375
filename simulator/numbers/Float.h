// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the vector unit's floating operations mean for one lane, where C++ has another or no answer. f16 values are
// _Float16: each C++ operation on them computes in f32 and rounds once more, which for +, -, * and / gives the rounded
// exact result. All functions are written so that a loop over lanes becomes vector code.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace heddle::simulator {

template <typename T>
using BitsOf = std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;

/// The fields of a floating type.
template <typename T>
struct Fields {
  using Bits = BitsOf<T>;
  static constexpr int mantissaBits = sizeof(T) == 2 ? 10 : sizeof(T) == 4 ? 23 : 52;
  static constexpr int exponentBits = int(sizeof(T)) * 8 - 1 - mantissaBits;
  static constexpr int bias = (1 << (exponentBits - 1)) - 1;
  static constexpr Bits sign = Bits(Bits(1) << (sizeof(T) * 8 - 1));
  static constexpr Bits quiet = Bits(Bits(1) << (mantissaBits - 1));
  static constexpr Bits infinity = Bits(((Bits(1) << exponentBits) - 1) << mantissaBits);
  static constexpr Bits nan = Bits(infinity | quiet);
};

template <typename T>
BitsOf<T> bitsOf(T value) {
  return std::bit_cast<BitsOf<T>>(value);
}
template <typename T>
T fromBits(uint64_t bits) {
  return std::bit_cast<T>(BitsOf<T>(bits));
}
template <typename T>
T quietNan() {
  return fromBits<T>(Fields<T>::nan);
}
template <typename T>
BitsOf<T> magnitudeOf(T value) {
  return BitsOf<T>(bitsOf(value) & ~Fields<T>::sign);
}
template <typename T>
bool isNegative(T value) {
  return (bitsOf(value) & Fields<T>::sign) != 0;
}
template <typename T>
bool isNan(T value) {
  return magnitudeOf(value) > Fields<T>::infinity;
}
template <typename T>
bool isInfinite(T value) {
  return magnitudeOf(value) == Fields<T>::infinity;
}
template <typename T>
bool isZero(T value) {
  return magnitudeOf(value) == 0;
}
template <typename T>
bool isDenormal(T value) {
  return BitsOf<T>(magnitudeOf(value) - 1) < BitsOf<T>((BitsOf<T>(1) << Fields<T>::mantissaBits) - 1);
}
template <typename T>
bool isSignallingNan(T value) {
  return isNan(value) && !(bitsOf(value) & Fields<T>::quiet);
}
template <typename T>
T quieted(T nan) {
  return fromBits<T>(bitsOf(nan) | Fields<T>::quiet);
}
template <typename T>
T absolute(T value) {
  return fromBits<T>(magnitudeOf(value));
}
template <typename T>
T negated(T value) {
  return fromBits<T>(bitsOf(value) ^ Fields<T>::sign);
}
template <typename T>
T withSignOf(T magnitude, bool negative) {
  return fromBits<T>(magnitudeOf(magnitude) | (negative ? Fields<T>::sign : 0));
}
/// The exponent field.
template <typename T>
int exponentField(T value) {
  return int(magnitudeOf(value) >> Fields<T>::mantissaBits);
}
template <typename T>
T flushDenormal(T value) {
  return isDenormal(value) ? fromBits<T>(bitsOf(value) & Fields<T>::sign) : value;
}

/// Rounded once, in the host's rounding mode. Through f32 with the last bit set when it was inexact, so that the second
/// rounding sees what the first cut off; C++'s own conversion is a library call.
inline _Float16 halfFromDouble(double value) {
  float nearest = float(value);
  uint32_t bits = bitsOf(nearest);
  bool tooFar = std::fabs(double(nearest)) > std::fabs(value), exact = double(nearest) == value;
  uint32_t odd = (bits - (tooFar ? 1 : 0)) | 1; // of an infinity that was too far: the largest f32
  bool keep = exact || value != value;
  return _Float16(std::bit_cast<float>(keep ? bits : odd));
}

/// The value as double: exact.
template <typename T>
double toDouble(T value) {
  if constexpr (std::is_same_v<T, _Float16>)
    return double(float(value));
  else
    return double(value);
}
/// Rounded to T in the host's rounding mode.
template <typename T>
T roundTo(double value) {
  if constexpr (std::is_same_v<T, _Float16>)
    return halfFromDouble(value);
  else
    return T(value);
}

/// a + b with the last bit set when the sum was inexact, so that one more rounding to a format with two bits fewer
/// gives the rounded exact sum.
template <typename T>
T sumToOdd(T a, T b) {
  T sum = a + b, part = sum - a, lost = (a - (sum - part)) + (b - part);
  BitsOf<T> bits = bitsOf(sum);
  bool adjust = lost != 0 && lost == lost && !(bits & 1);
  bool outward = (lost > 0) == (sum > 0);
  return fromBits<T>(adjust ? (outward ? bits + 1 : bits - 1) : bits);
}

template <typename T>
T fusedMultiplyAdd(T a, T b, T c) {
  if constexpr (std::is_same_v<T, _Float16>) // the product is exact in f32
    return _Float16(sumToOdd(float(a) * float(b), float(c)));
  else if constexpr (std::is_same_v<T, float>)
    return __builtin_fmaf(a, b, c);
  else
    return __builtin_fma(a, b, c);
}

//===-- Minimum and maximum --------------------------------------------------------------------------------------===//

/// As integers that order like the numbers, with -0 below +0. NaNs lie outside the infinities.
template <typename T>
std::make_signed_t<BitsOf<T>> orderOf(T value) {
  using Signed = std::make_signed_t<BitsOf<T>>;
  auto bits = Signed(bitsOf(value));
  return Signed(bits ^ Signed(BitsOf<T>(bits >> (sizeof(T) * 8 - 1)) & BitsOf<T>(~Fields<T>::sign)));
}

/// v_min and v_max with IEEE set: a signalling NaN comes out quiet; else a number wins over a NaN.
template <typename T, bool largest>
T extremeNumber(T a, T b) {
  bool first = largest ? orderOf(a) >= orderOf(b) : orderOf(a) <= orderOf(b);
  T result = first ? a : b;
  result = isNan(b) ? a : isNan(a) ? b : result;
  result = isSignallingNan(b) ? quieted(b) : result;
  return isSignallingNan(a) ? quieted(a) : result;
}
template <typename T>
T minimumNumber(T a, T b) {
  return extremeNumber<T, false>(a, b);
}
template <typename T>
T maximumNumber(T a, T b) {
  return extremeNumber<T, true>(a, b);
}

/// v_minimum3 and v_maximum3: any NaN comes out, quiet.
template <typename T, bool largest>
T extreme(T a, T b) {
  bool first = largest ? orderOf(a) >= orderOf(b) : orderOf(a) <= orderOf(b);
  T result = first ? a : b;
  result = isNan(b) ? quieted(b) : result;
  return isNan(a) ? quieted(a) : result;
}

/// v_med3: of NaNs, what min3 gives.
template <typename T>
T medianNumber(T a, T b, T c) {
  T least = minimumNumber(minimumNumber(a, b), c), greatest = maximumNumber(maximumNumber(a, b), c);
  bool anyNan = isNan(a) || isNan(b) || isNan(c);
  T rest = bitsOf(greatest) == bitsOf(a)   ? maximumNumber(b, c)
           : bitsOf(greatest) == bitsOf(b) ? maximumNumber(a, c)
                                           : maximumNumber(a, b);
  return anyNan ? least : rest;
}

//===-- Parts of numbers -----------------------------------------------------------------------------------------===//

template <typename T>
T nearestEven(T value) {
  if constexpr (std::is_same_v<T, double>)
    return __builtin_roundeven(value);
  else
    return T(__builtin_roundevenf(float(value)));
}
template <typename T>
T floorOf(T value) {
  if constexpr (std::is_same_v<T, double>)
    return __builtin_floor(value);
  else
    return T(__builtin_floorf(float(value)));
}
template <typename T>
T ceilingOf(T value) {
  if constexpr (std::is_same_v<T, double>)
    return __builtin_ceil(value);
  else
    return T(__builtin_ceilf(float(value)));
}
template <typename T>
T truncated(T value) {
  if constexpr (std::is_same_v<T, double>)
    return __builtin_trunc(value);
  else
    return T(__builtin_truncf(float(value)));
}

/// Below 1 always: a tiny negative value would round up to it.
template <typename T>
T fraction(T value) {
  T result = T(value - floorOf(value));
  T largest = fromBits<T>((uint64_t(Fields<T>::bias) << Fields<T>::mantissaBits) - 1);
  return result >= T(1) ? largest : result;
}

/// value * 2^exponent, rounded once.
template <typename T>
T scaleByPower(T value, int exponent) {
  if constexpr (std::is_same_v<T, double>) {
    return std::ldexp(value, exponent);
  } else { // the scaled value is exact in double, and the exponents are cut where all of T has become 0 or infinity
    int64_t cut = exponent < -400 ? -400 : exponent > 400 ? 400 : exponent;
    return roundTo<T>(toDouble(value) * std::bit_cast<double>(uint64_t(cut + 1023) << 52));
  }
}

/// v_frexp_exp: 0 for zeros, infinities and NaNs.
template <typename T>
int fractionExponent(T value) {
  double wide = toDouble(value);
  bool none = isZero(value) || exponentField(value) == (1 << Fields<T>::exponentBits) - 1;
  return none ? 0 : std::ilogb(wide) + 1;
}
/// v_frexp_mant: in [0.5, 1) with the value's sign; infinities and NaNs stay.
template <typename T>
T fractionMantissa(T value) {
  if (isNan(value))
    return quieted(value);
  if (isInfinite(value) || isZero(value))
    return value;
  int exponent;
  return roundTo<T>(std::frexp(toDouble(value), &exponent));
}

/// The bit of v_cmp_class for `value`: 0 signalling NaN, 1 quiet NaN, 2 -infinity, 3 -normal, 4 -denormal, 5 -0, 6 +0,
/// 7 +denormal, 8 +normal, 9 +infinity.
template <typename T>
uint32_t classOf(T value) {
  bool negative = isNegative(value);
  uint32_t finite = isZero(value) ? (negative ? 5 : 6) : isDenormal(value) ? (negative ? 4 : 7) : (negative ? 3 : 8);
  uint32_t number = isInfinite(value) ? (negative ? 2 : 9) : finite;
  return isNan(value) ? (isSignallingNan(value) ? 0 : 1) : number;
}

//===-- To integers ----------------------------------------------------------------------------------------------===//

/// For integers of at most 32 bits. Toward zero; out-of-range values saturate, NaN gives 0.
template <typename Integer, typename T>
Integer toInteger(T value) {
  constexpr double least = double(std::numeric_limits<Integer>::min());
  constexpr double greatest = double(std::numeric_limits<Integer>::max());
  double wide = toDouble(value);
  double inside = wide < least ? least : wide > greatest ? greatest : wide;
  double whole = __builtin_trunc(inside == inside ? inside : 0.0);
  if constexpr (std::is_same_v<Integer, uint32_t>) // by way of signed ones, for which there is vector code
    return uint32_t(int32_t(whole - 2147483648.0)) ^ 0x80000000u;
  else
    return Integer(int32_t(whole));
}

} // namespace heddle::simulator
