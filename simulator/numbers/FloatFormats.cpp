// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One decoder and one encoder for all narrow floating formats. Everything is done on the fields of a double, so that
// the host's rounding mode has no say.
#include "simulator/numbers/FloatFormats.h"
#include <bit>
#include <cmath>
#include <limits>

namespace heddle::simulator {
namespace {

double powerOfTwo(int exponent) { // of a normal double
  return std::bit_cast<double>(uint64_t(exponent + 1023) << 52);
}

uint32_t withSign(const FloatFormat &format, bool isNegative, uint32_t magnitude) {
  if (format.specials == SpecialCodes::NegativeZeroNan && magnitude == 0)
    return 0;
  return isNegative ? magnitude | format.signBit() : magnitude;
}

uint32_t encodeOverflow(const FloatFormat &format, bool isNegative, Overflow overflow) {
  if (overflow == Overflow::Saturate || format.specials == SpecialCodes::None)
    return withSign(format, isNegative, format.largestFinite());
  if (format.specials == SpecialCodes::Ieee)
    return withSign(format, isNegative, format.largestFinite() + 1);
  return format.specials == SpecialCodes::NegativeZeroNan ? format.nanCode()
                                                          : withSign(format, isNegative, format.nanCode());
}

uint32_t encodeNan(const FloatFormat &format, bool isNegative) {
  if (format.specials == SpecialCodes::NegativeZeroNan)
    return format.nanCode();
  bool hasNan = format.specials != SpecialCodes::None;
  return withSign(format, isNegative, hasNan ? format.nanCode() : format.largestFinite());
}

/// `roundsUp(whole, rest)`: whether `whole` units of the last place and a `rest` below one become `whole` + 1.
template <typename RoundsUp>
uint32_t encodeWith(const FloatFormat &format, double value, Overflow overflow, Rounding direction, RoundsUp roundsUp) {
  bool isNegative = std::signbit(value);
  if (value != value)
    return encodeNan(format, isNegative);
  double magnitude = std::fabs(value);
  if (magnitude == 0)
    return withSign(format, isNegative, 0);
  if (std::isinf(value))
    return encodeOverflow(format, isNegative, overflow);
  int exponent = int(std::bit_cast<uint64_t>(magnitude) >> 52) - 1023; // a subnormal double is far below all formats
  int least = 1 - format.bias;
  if (exponent < least)
    exponent = least;
  // Beyond every format, and where the scale below would no longer be a normal double.
  if (exponent > 200)
    magnitude = powerOfTwo(200), exponent = 200;
  double units = magnitude * powerOfTwo(format.mantissaBits - exponent);
  auto whole = uint64_t(units);
  double rest = units - double(whole);
  whole += roundsUp(whole, rest, isNegative);
  // A mantissa that rounds up to the next power of two carries into the exponent field by itself.
  uint64_t code = (uint64_t(exponent + format.bias - 1) << format.mantissaBits) + whole;
  if (code <= format.largestFinite())
    return withSign(format, isNegative, uint32_t(code));
  bool cut = direction == Rounding::TowardZero || (direction == Rounding::Up && isNegative) ||
             (direction == Rounding::Down && !isNegative);
  return encodeOverflow(format, isNegative, cut ? Overflow::Saturate : overflow);
}

} // namespace

double decodeFloat(const FloatFormat &format, uint32_t code) {
  uint32_t magnitude = code & (format.signBit() - 1);
  double sign = code & format.signBit() ? -1.0 : 1.0;
  if (format.specials == SpecialCodes::NegativeZeroNan && magnitude == 0 && sign < 0)
    return std::numeric_limits<double>::quiet_NaN();
  if (magnitude > format.largestFinite()) {
    bool infinite = format.specials == SpecialCodes::Ieee && magnitude == format.largestFinite() + 1;
    return infinite ? sign * std::numeric_limits<double>::infinity()
                    : std::copysign(std::numeric_limits<double>::quiet_NaN(), sign);
  }
  int exponent = int(magnitude >> format.mantissaBits);
  auto mantissa = int64_t(magnitude & ((1u << format.mantissaBits) - 1));
  if (exponent > 0)
    mantissa |= int64_t(1) << format.mantissaBits;
  else
    exponent = 1;
  return sign * double(mantissa) * powerOfTwo(exponent - format.bias - format.mantissaBits);
}

uint32_t encodeFloat(const FloatFormat &format, double value, Overflow overflow, Rounding rounding) {
  return encodeWith(format, value, overflow, rounding, [rounding](uint64_t whole, double rest, bool isNegative) {
    switch (rounding) {
    case Rounding::NearestEven:
      return rest > 0.5 || (rest == 0.5 && (whole & 1));
    case Rounding::Up:
      return rest > 0 && !isNegative;
    case Rounding::Down:
      return rest > 0 && isNegative;
    case Rounding::TowardZero:
      return false;
    }
    return false;
  });
}

uint32_t encodeFloatStochastic(const FloatFormat &format, double value, uint32_t random, Overflow overflow) {
  double threshold = double(random) * powerOfTwo(-32);
  return encodeWith(format, value, overflow, Rounding::NearestEven,
                    [threshold](uint64_t, double rest, bool) { return rest + threshold >= 1; });
}

const std::array<float, 256> &decodeTable(const FloatFormat &format) {
  auto build = [](const FloatFormat &of) {
    std::array<float, 256> table;
    for (uint32_t code = 0; code < table.size(); ++code)
      table[code] = float(decodeFloat(of, code & (2 * of.signBit() - 1)));
    return table;
  };
  static const std::array<float, 256> tables[] = {build(fp8Ocp), build(bf8Ocp), build(fp8Fnuz), build(bf8Fnuz),
                                                  build(fp6),    build(bf6),    build(fp4)};
  if (format.bits == 8)
    return tables[(format.specials == SpecialCodes::NegativeZeroNan ? 2 : 0) + (format.mantissaBits == 2)];
  return tables[format.bits == 4 ? 6 : format.mantissaBits == 3 ? 4 : 5];
}

} // namespace heddle::simulator
