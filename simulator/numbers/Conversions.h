// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversions that instructions put together: saturating integers, bf16, and numbers with a block scale.
#pragma once

#include "simulator/numbers/Float.h"
#include "simulator/numbers/FloatFormats.h"

namespace heddle::simulator {

template <typename To, typename From>
To saturated(From value) {
  auto wide = int64_t(value);
  constexpr int64_t least = std::numeric_limits<To>::min(), greatest = std::numeric_limits<To>::max();
  return To(wide < least ? least : wide > greatest ? greatest : wide);
}

inline float fromBf16(uint16_t code) {
  float value = std::bit_cast<float>(uint32_t(code) << 16);
  return isNan(value) ? quieted(value) : value;
}

/// To nearest, ties to even.
inline uint16_t toBf16(float value) {
  uint32_t bits = bitsOf(value);
  uint32_t rounded = bits + 0x7FFF + (bits >> 16 & 1);
  return uint16_t((isNan(value) ? bits | 0x400000 : rounded) >> 16);
}

/// The scale of MX conversions: the exponent field of an f32, bias 127. All ones is NaN.
inline double scaleFactor(float scale) {
  uint32_t exponent = bitsOf(scale) >> 23 & 0xFF;
  double power = std::bit_cast<double>(uint64_t(int64_t(exponent) - 127 + 1023) << 52);
  return exponent == 0xFF ? quietNan<double>() : power;
}
inline double inverseScaleFactor(float scale) {
  uint32_t exponent = bitsOf(scale) >> 23 & 0xFF;
  double power = std::bit_cast<double>(uint64_t(127 - int64_t(exponent) + 1023) << 52);
  return exponent == 0xFF ? quietNan<double>() : power;
}

} // namespace heddle::simulator
