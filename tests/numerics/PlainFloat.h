// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Narrow floating-point formats by their definition: a table of every value, and the nearest entry by search: plain,
// and without a line in common with what it judges.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace heddle::numerics {

struct PlainFormat {
  enum Codes { Ieee, OneNan, UnsignedZero };
  PlainFormat(std::string name, int exponentBits, int mantissaBits, int bias, Codes codes)
      : name(std::move(name)), exponentBits(exponentBits), mantissaBits(mantissaBits), bias(bias), codes(codes) {
    auto table = std::make_shared<std::vector<double>>();
    for (uint32_t code = 0; code < 2 * signBit(); ++code)
      table->push_back(defined(code));
    values = std::move(table);
    for (largest = signBit() - 1; !std::isfinite(valueOf(largest));)
      --largest;
  }

  std::string name; ///< in MLIR's notation
  int exponentBits, mantissaBits, bias;
  Codes codes;

  int width() const { return 1 + exponentBits + mantissaBits; }
  uint32_t signBit() const { return 1u << (width() - 1); }
  double valueOf(uint32_t code) const { return (*values)[code]; }
  /// Code of the largest finite magnitude.
  uint32_t largestCode() const { return largest; }

  /// The code nearest to `value`, ties to the even code. Beyond the largest finite value: that value when `saturate`,
  /// else by IEEE's rule. NaN gives some NaN.
  uint32_t nearest(double value, bool saturate) const {
    if (std::isnan(value))
      return codes == UnsignedZero ? signBit() : signBit() - 1;
    uint32_t sign = std::signbit(value) ? signBit() : 0;
    double magnitude = std::fabs(value);
    uint32_t last = largestCode();
    double largest = valueOf(last), step = largest - valueOf(last - 1);
    uint32_t code;
    if (magnitude > largest) {
      // Half a step beyond lies the bound; the largest code is odd, so that the tie goes to infinity.
      code = !saturate && magnitude - largest >= step / 2 ? last + 1 : last;
    } else {
      uint32_t low = 0, high = last; // valueOf(low) <= magnitude <= valueOf(high)
      while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        (valueOf(middle) <= magnitude ? low : high) = middle;
      }
      double below = magnitude - valueOf(low),
             above = valueOf(high) - magnitude; // exact: numbers within a factor of 2
      code = below < above ? low : above < below ? high : low % 2 == 0 ? low : high;
      if (magnitude == valueOf(low))
        code = low;
    }
    if (codes == UnsignedZero && code == 0)
      return 0;
    return sign | code;
  }

  /// The code nearest to zero among the two around `value`.
  uint32_t towardZero(double value) const {
    uint32_t code = nearest(value, /*saturate=*/true);
    if (std::isnan(value) || std::fabs(valueOf(code)) <= std::fabs(value))
      return code;
    return code - 1;
  }

  bool isNan(uint32_t code) const { return std::isnan(valueOf(code)); }

private:
  /// The value of a code, by the format's definition.
  double defined(uint32_t code) const {
    uint32_t magnitude = code & (signBit() - 1), exponent = magnitude >> mantissaBits;
    uint32_t mantissa = magnitude & ((1u << mantissaBits) - 1), top = (1u << exponentBits) - 1;
    double nan = std::numeric_limits<double>::quiet_NaN();
    if (codes == UnsignedZero && code == signBit())
      return nan;
    if (codes == OneNan && magnitude == signBit() - 1)
      return nan;
    double sign = code & signBit() ? -1 : 1;
    if (codes == Ieee && exponent == top)
      return mantissa ? nan : sign * std::numeric_limits<double>::infinity();
    if (exponent == 0)
      return sign * std::ldexp(double(mantissa), 1 - bias - mantissaBits);
    return sign * std::ldexp(1.0 + std::ldexp(double(mantissa), -mantissaBits), int(exponent) - bias);
  }

  std::shared_ptr<const std::vector<double>> values; ///< of every code
  uint32_t largest = 0;
};

inline void PrintTo(const PlainFormat &format, std::ostream *stream) {
  *stream << format.name;
}

inline const PlainFormat plainF16{"f16", 5, 10, 15, PlainFormat::Ieee};
inline const PlainFormat plainBF16{"bf16", 8, 7, 127, PlainFormat::Ieee};
inline const std::vector<PlainFormat> plainFp8{{"f8E4M3FN", 4, 3, 7, PlainFormat::OneNan},
                                               {"f8E5M2", 5, 2, 15, PlainFormat::Ieee},
                                               {"f8E4M3FNUZ", 4, 3, 8, PlainFormat::UnsignedZero},
                                               {"f8E5M2FNUZ", 5, 2, 16, PlainFormat::UnsignedZero}};

} // namespace heddle::numerics
