// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bits of 2 / pi that V_TRIG_PREOP_F64 looks up, for the reduction of large angles. Source: CDNA 3 manual; the bits
// are those of the number.
#pragma once

#include "simulator/numbers/Float.h"
#include <iterator>

namespace heddle::simulator {

/// 2 / pi as a fraction of 1201 bits, highest first; 15 zero bits follow.
inline constexpr uint64_t twoOverPi[] = {
    0xA2F9836E4E441529u, 0xFC2757D1F534DDC0u, 0xDB6295993C439041u, 0xFE5163ABDEBBC561u, 0xB7246E3A424DD2E0u,
    0x06492EEA09D1921Cu, 0xFE1DEB1CB129A73Eu, 0xE88235F52EBB4484u, 0xE99C7026B45F7E41u, 0x3991D639835339F4u,
    0x9C845F8BBDF9283Bu, 0x1FF897FFDE05980Fu, 0xEF2F118B5A0A6D1Fu, 0x6D367ECF27CB09B7u, 0x4F463F669E5FEA2Du,
    0x7527BAC7EBE5F17Bu, 0x3D0739F78A5292EAu, 0x6BFB5FB11F8D5D08u, 0x56033046FC7B0000u};

/// 53 bits of 2 / pi at their weight: segment `segment` of those that matter for an angle of `angle`'s exponent.
inline double trigonometricSegment(double angle, uint32_t segment) {
  int exponent = exponentField(angle);
  unsigned shift = (segment & 31) * 53 + (exponent > 1077 ? unsigned(exponent - 1077) : 0);
  if (shift > 1201)
    return 0;
  unsigned word = shift / 64, bit = shift % 64;
  auto wordAt = [](unsigned index) { return index < std::size(twoOverPi) ? twoOverPi[index] : 0; };
  uint64_t bits = bit ? wordAt(word) << bit | wordAt(word + 1) >> (64 - bit) : wordAt(word);
  return std::ldexp(double(bits >> 11), -53 - int(shift) + (exponent >= 1968 ? 128 : 0));
}

} // namespace heddle::simulator
