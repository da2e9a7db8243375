// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The floating formats of 16 bits and fewer that the chips convert from and to, by their field widths. Values travel as
// double, which holds each of them, and every f32, exactly. Sources: OCP MX 1.0 for fp8, bf8, fp6, bf6 and fp4; the
// CDNA 3 manual for the FNUZ pair.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace heddle::simulator {

/// How a format spends its highest codes.
enum class SpecialCodes : uint8_t {
  Ieee,            ///< the highest exponent is infinity and NaN
  OneNan,          ///< no infinity; all ones is NaN
  NegativeZeroNan, ///< no infinity, no negative zero; its code is NaN
  None,            ///< every code is a number
};

struct FloatFormat {
  int bits;
  int mantissaBits;
  int bias;
  SpecialCodes specials;

  constexpr uint32_t signBit() const { return 1u << (bits - 1); }
  constexpr uint32_t largestFinite() const; ///< without its sign
  constexpr uint32_t nanCode() const;       ///< 0 for a format without NaN
  bool operator==(const FloatFormat &) const = default;
};

inline constexpr FloatFormat f16{16, 10, 15, SpecialCodes::Ieee};
inline constexpr FloatFormat bf16{16, 7, 127, SpecialCodes::Ieee};
inline constexpr FloatFormat fp8Ocp{8, 3, 7, SpecialCodes::OneNan};
inline constexpr FloatFormat bf8Ocp{8, 2, 15, SpecialCodes::Ieee};
inline constexpr FloatFormat fp8Fnuz{8, 3, 8, SpecialCodes::NegativeZeroNan};
inline constexpr FloatFormat bf8Fnuz{8, 2, 16, SpecialCodes::NegativeZeroNan};
inline constexpr FloatFormat fp6{6, 3, 1, SpecialCodes::None};
inline constexpr FloatFormat bf6{6, 2, 3, SpecialCodes::None};
inline constexpr FloatFormat fp4{4, 1, 1, SpecialCodes::None};

constexpr uint32_t FloatFormat::largestFinite() const {
  uint32_t ones = signBit() - 1;
  if (specials == SpecialCodes::OneNan)
    return ones - 1;
  return specials == SpecialCodes::Ieee ? ones - (1u << mantissaBits) : ones;
}

constexpr uint32_t FloatFormat::nanCode() const {
  if (specials == SpecialCodes::NegativeZeroNan)
    return signBit();
  if (specials == SpecialCodes::OneNan)
    return signBit() - 1;
  return specials == SpecialCodes::Ieee ? largestFinite() + 1 + (1u << (mantissaBits - 1)) : 0;
}

/// In the order of MODE's round fields.
enum class Rounding : uint8_t { NearestEven, Up, Down, TowardZero };

/// What becomes of a value beyond the largest finite one. A format without specials saturates always.
enum class Overflow : uint8_t {
  Special,  ///< infinity, or NaN where the format has no infinity
  Saturate, ///< the largest finite value; NaN stays NaN
};

double decodeFloat(const FloatFormat &format, uint32_t code);

/// The code nearest to `value`. NaN in a format without NaN gives the largest value of its sign.
uint32_t encodeFloat(const FloatFormat &format, double value, Overflow overflow = Overflow::Special,
                     Rounding rounding = Rounding::NearestEven);

/// The same of an f32, to nearest even, for a format of 8 bits or fewer: without a call where the value is in its
/// range.
inline uint32_t encodeNearest(const FloatFormat &format, float value, Overflow overflow) {
  uint32_t bits = std::bit_cast<uint32_t>(value), magnitude = bits & 0x7FFFFFFF, largest = format.largestFinite();
  unsigned cut = unsigned(23 - format.mantissaBits);
  auto rebias = uint32_t(127 - format.bias) << format.mantissaBits; // between the exponents, in codes
  if (magnitude > (largest + rebias) << cut)
    return encodeFloat(format, value, overflow);
  uint32_t code = 0;
  if (magnitude >= ((1u << format.mantissaBits) + rebias) << cut)
    code = ((magnitude + (1u << (cut - 1)) - 1 + (magnitude >> cut & 1)) >> cut) - rebias;
  else {
    float unit = std::bit_cast<float>(uint32_t(127 + format.mantissaBits - (1 - format.bias)) << 23);
    float units = std::bit_cast<float>(magnitude) * unit; // exact
    code = uint32_t(units);
    float rest = units - float(code);
    code += rest > 0.5f || (rest == 0.5f && code & 1);
  }
  bool hasSign = bits >> 31 && (code || format.specials != SpecialCodes::NegativeZeroNan);
  return hasSign ? code | format.signBit() : code;
}

/// Rounds up with the probability of what is cut off: `random` / 2^32 is added in units of the last place before
/// cutting.
uint32_t encodeFloatStochastic(const FloatFormat &format, double value, uint32_t random,
                               Overflow overflow = Overflow::Special);

/// The values of all codes of a format of 8 bits or fewer; codes beyond its width repeat.
const std::array<float, 256> &decodeTable(const FloatFormat &format);

/// The next state of the generator of stochastic conversions of many elements, and of v_prng_b32.
constexpr uint32_t nextRandom(uint32_t state) {
  return (state << 1) ^ (state & 0x80000000u ? 0xC5u : 0u); // CDNA 4 manual, V_PRNG_B32: a 32-bit LFSR
}

} // namespace heddle::simulator
