// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Floating-point formats in software: every format of the tile level as a bit pattern, its exact value as a double, and
// the one rounding from a double (or from an exact sum of two doubles) back to bits.
#pragma once
#include <cstdint>

namespace heddle::reference {

/// How a format spends its highest codes.
enum class SpecialCodes {
  Ieee,         ///< the largest exponent holds infinities and NaNs
  OneNan,       ///< "fn": no infinity; NaN is all exponent and mantissa bits set
  UnsignedZero, ///< "fnuz": no infinity, no -0; NaN is the code that -0 would have
};

struct FloatFormat {
  int exponentBits, mantissaBits, bias;
  SpecialCodes codes;

  int width() const { return 1 + exponentBits + mantissaBits; }
  uint64_t signBit() const { return uint64_t(1) << (exponentBits + mantissaBits); }
  uint64_t infinity() const { return ((uint64_t(1) << exponentBits) - 1) << mantissaBits; } ///< Ieee only
  uint64_t largestFinite() const;
  uint64_t quietNan() const;
};

inline constexpr FloatFormat formatF64{11, 52, 1023, SpecialCodes::Ieee};
inline constexpr FloatFormat formatF32{8, 23, 127, SpecialCodes::Ieee};
inline constexpr FloatFormat formatF16{5, 10, 15, SpecialCodes::Ieee};
inline constexpr FloatFormat formatBF16{8, 7, 127, SpecialCodes::Ieee};
inline constexpr FloatFormat formatE4M3FN{4, 3, 7, SpecialCodes::OneNan};
inline constexpr FloatFormat formatE5M2{5, 2, 15, SpecialCodes::Ieee};
inline constexpr FloatFormat formatE4M3FNUZ{4, 3, 8, SpecialCodes::UnsignedZero};
inline constexpr FloatFormat formatE5M2FNUZ{5, 2, 16, SpecialCodes::UnsignedZero};

enum class Rounding { NearestEven, TowardZero };
/// What becomes of a value beyond the largest finite one under NearestEven: infinity (NaN in a format without it), or
/// the largest finite value, also for an infinity.
enum class Overflow { Infinity, Saturate };

bool isNan(const FloatFormat &format, uint64_t bits);
/// The exact value; every format here is a subset of double.
double decode(const FloatFormat &format, uint64_t bits);
/// One rounding of `value`. Every NaN becomes the format's quiet NaN.
uint64_t encode(const FloatFormat &format, double value, Rounding rounding = Rounding::NearestEven,
                Overflow overflow = Overflow::Infinity);
/// a * b + c with one rounding, for operands that are values of `format`.
uint64_t encodeFma(const FloatFormat &format, double a, double b, double c);

} // namespace heddle::reference
