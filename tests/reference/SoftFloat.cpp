// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Why computing in double and rounding once more is exact. Let p be the precision of the target format (24 for f32, 11
// for f16, 8 for bf16, at most 4 for fp8); double has 53.
//  * Addition and subtraction: 53 >= 2p + 2, so the second rounding never meets a false tie (Figueroa 1995). A sum in
//    the subnormal range of the target is a multiple of its quantum and needs no rounding at all.
//  * Multiplication: the product has 2p <= 48 bits and is exact in double; only the final rounding rounds.
//  * Division: a quotient x / y that is not a tie m (m has at most p + 1 bits) differs from it by |x - m y| / |y|, at
//    least 2^-(2p + 1) relative to m, more than double's error 2^-53; a tie is exact in double. This holds for
//    subnormal quotients too, whose ties have fewer bits.
//  * Square root: a tie of p + 1 bits squared has 2p + 2 bits, so no p-bit operand has a tie as its root, and the
//    distance to one is at least 2^-(2p + 3) relative, more than 2^-53.
//  * Fused multiply-add: the exact product plus an addend may need hundreds of bits, and the argument fails. The sum
//    is rounded to odd in double first; with 53 >= p + 2 the second rounding is then exact (Boldo, Melquiond 2005).
// For f64 itself the hardware operation is used.
#include "tests/reference/SoftFloat.h"
#include <bit>
#include <cmath>
#include <limits>

using namespace heddle::reference;

uint64_t FloatFormat::largestFinite() const {
  switch (codes) {
  case SpecialCodes::Ieee:
    return infinity() - 1;
  case SpecialCodes::OneNan:
    return signBit() - 2;
  case SpecialCodes::UnsignedZero:
    return signBit() - 1;
  }
  return 0;
}

uint64_t FloatFormat::quietNan() const {
  switch (codes) {
  case SpecialCodes::Ieee:
    return infinity() | (uint64_t(1) << (mantissaBits - 1));
  case SpecialCodes::OneNan:
    return signBit() - 1;
  case SpecialCodes::UnsignedZero:
    return signBit();
  }
  return 0;
}

bool heddle::reference::isNan(const FloatFormat &format, uint64_t bits) {
  uint64_t magnitude = bits & (format.signBit() - 1);
  switch (format.codes) {
  case SpecialCodes::Ieee:
    return magnitude > format.infinity();
  case SpecialCodes::OneNan:
    return magnitude == format.signBit() - 1;
  case SpecialCodes::UnsignedZero:
    return bits == format.signBit();
  }
  return false;
}

double heddle::reference::decode(const FloatFormat &format, uint64_t bits) {
  if (format.width() == 64)
    return std::bit_cast<double>(bits);
  if (isNan(format, bits))
    return std::numeric_limits<double>::quiet_NaN();
  uint64_t magnitude = bits & (format.signBit() - 1);
  double value;
  if (format.codes == SpecialCodes::Ieee && magnitude == format.infinity()) {
    value = std::numeric_limits<double>::infinity();
  } else {
    int exponent = int(magnitude >> format.mantissaBits);
    uint64_t mantissa = magnitude & ((uint64_t(1) << format.mantissaBits) - 1);
    if (exponent == 0)
      exponent = 1; // subnormal: the exponent of the smallest normal, without the implicit bit
    else
      mantissa |= uint64_t(1) << format.mantissaBits;
    value = std::ldexp(double(mantissa), exponent - format.bias - format.mantissaBits);
  }
  return bits & format.signBit() ? -value : value;
}

uint64_t heddle::reference::encode(const FloatFormat &format, double value, Rounding rounding, Overflow overflow) {
  if (std::isnan(value))
    return format.quietNan();
  if (format.width() == 64)
    return std::bit_cast<uint64_t>(value);
  uint64_t sign = std::signbit(value) ? format.signBit() : 0;
  uint64_t beyond = format.codes == SpecialCodes::Ieee ? format.infinity() : format.quietNan();
  if (overflow == Overflow::Saturate)
    beyond = format.largestFinite();
  if (std::isinf(value))
    return sign | beyond;

  // |value| = q * 2^(exponent - mantissaBits) with q exact in double; n is q rounded to an integer. n has
  // mantissaBits+1 bits for a normal result, fewer for a subnormal one, and one more bit when rounding carries; adding
  // it to the exponent field minus one gives the right code in all three cases.
  double magnitude = std::fabs(value);
  int smallestExponent = 1 - format.bias;
  int exponent = magnitude == 0 ? smallestExponent : std::max(std::ilogb(magnitude), smallestExponent);
  double q = std::ldexp(magnitude, format.mantissaBits - exponent);
  double n = rounding == Rounding::NearestEven ? std::nearbyint(q) : std::trunc(q);
  // Far too large for the exponent field: any code past the largest finite one will do.
  uint64_t code = exponent > format.bias + 1
                      ? ~uint64_t(0) >> 1
                      : (uint64_t(exponent + format.bias - 1) << format.mantissaBits) + uint64_t(n);
  if (code > format.largestFinite())
    return sign | (rounding == Rounding::TowardZero ? format.largestFinite() : beyond);
  if (code == 0 && format.codes == SpecialCodes::UnsignedZero)
    return 0;
  return sign | code;
}

// a + b rounded to odd: the double next to the exact sum whose last bit is 1, unless the sum is exact.
static double addRoundedToOdd(double a, double b) {
  double sum = a + b;
  if (!std::isfinite(sum))
    return sum;
  double bPart = sum - a; // Knuth's TwoSum: a + b = sum + error exactly
  double error = (a - (sum - bPart)) + (b - bPart);
  if (error == 0 || (std::bit_cast<uint64_t>(sum) & 1))
    return sum;
  return std::nextafter(sum,
                        error > 0 ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity());
}

uint64_t heddle::reference::encodeFma(const FloatFormat &format, double a, double b, double c) {
  if (format.width() == 64)
    return encode(format, std::fma(a, b, c));
  return encode(format, addRoundedToOdd(a * b, c)); // the product of two such values is exact in double
}
