// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums of two 16-bit floats in a word, with the roundings of the formats, and the fault for unaligned addresses.
#include "simulator/instructions/Atomics.h"
#include <fmt/format.h>

namespace heddle::simulator {
namespace {

uint16_t roundToBfloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value)
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16); // to nearest, ties to even
}

template <auto add>
uint32_t addPairs(uint32_t a, uint32_t b) {
  return uint32_t(add(uint16_t(a), uint16_t(b))) | uint32_t(add(uint16_t(a >> 16), uint16_t(b >> 16))) << 16;
}

} // namespace

uint32_t addHalves(uint32_t a, uint32_t b) {
  return addPairs<[](uint16_t x, uint16_t y) {
    return std::bit_cast<uint16_t>(_Float16(std::bit_cast<_Float16>(x) + std::bit_cast<_Float16>(y)));
  }>(a, b);
}

uint32_t addBfloats(uint32_t a, uint32_t b) {
  return addPairs<[](uint16_t x, uint16_t y) {
    return roundToBfloat(std::bit_cast<float>(uint32_t(x) << 16) + std::bit_cast<float>(uint32_t(y) << 16));
  }>(a, b);
}

void faultMisaligned(uint64_t address, unsigned size, unsigned lane) {
  Fault fault(
      fmt::format("an atomic operation of {} bytes at 0x{:x}, which is no multiple of {}", size, address, size));
  fault.lane = int(lane);
  throw fault;
}

} // namespace heddle::simulator
