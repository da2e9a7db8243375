// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums of absolute differences of bytes, and averages. Source: AMD Instinct MI300 (CDNA3) Instruction Set Architecture,
// VOP3.
#include "simulator/instructions/Families.h"
#include "simulator/instructions/VectorFrame.h"

namespace heddle::simulator {
namespace {

/// Of the four bytes of both; with `masked`, bytes of the reference that are 0 do not count.
uint32_t byteDifferences(uint32_t a, uint32_t reference, bool masked) {
  uint32_t sum = 0;
  for (unsigned shift = 0; shift < 32; shift += 8) {
    uint32_t x = a >> shift & 0xFF, y = reference >> shift & 0xFF;
    sum += masked && y == 0 ? 0 : x > y ? x - y : y - x;
  }
  return sum;
}

uint32_t distance(uint32_t a, uint32_t b) {
  return a > b ? a - b : b - a;
}

/// Four windows of `a`, one byte apart, each added to 16 bits of `sums`.
template <bool masked>
constexpr auto fourWindows = [](uint64_t a, uint32_t reference, uint64_t sums) {
  uint64_t result = 0;
  for (unsigned window = 0; window < 4; ++window) {
    auto sum = uint16_t((sums >> (16 * window)) + byteDifferences(uint32_t(a >> (8 * window)), reference, masked));
    result |= uint64_t(sum) << (16 * window);
  }
  return result;
};

/// The same with sums of 32 bits in four registers.
void executeFourWindows32(Wave &wave, const Instruction &instruction) {
  const Operand *operands = instruction.operands;
  Row storage[7], results[4];
  const uint32_t *low = readRow(wave, operands[1], 0, storage[0]), *high = readRow(wave, operands[1], 1, storage[1]);
  const uint32_t *reference = readRow(wave, operands[2], 0, storage[2]);
  for (unsigned window = 0; window < 4; ++window) {
    const uint32_t *sums = readRow(wave, operands[3], window, storage[3 + window]);
    for (unsigned lane = 0; lane < waveLanes; ++lane) {
      uint64_t bytes = uint64_t(high[lane]) << 32 | low[lane];
      results[window][lane] = sums[lane] + byteDifferences(uint32_t(bytes >> (8 * window)), reference[lane], true);
    }
  }
  for (unsigned window = 0; window < 4; ++window)
    writeRow(wave, operands[0], window, results[window]);
}

} // namespace

void addVectorSums(InstructionTable &table) {
  table.add(laneRow<[](uint32_t a, uint32_t b, uint32_t c) { return byteDifferences(a, b, false) + c; }>("v_sad_u8"));
  table.add(laneRow<[](uint32_t a, uint32_t b, uint32_t c) { return (byteDifferences(a, b, false) << 16) + c; }>(
      "v_sad_hi_u8"));
  table.add(laneRow<[](uint32_t a, uint32_t b, uint32_t c) {
    return distance(a & 0xFFFF, b & 0xFFFF) + distance(a >> 16, b >> 16) + c;
  }>("v_sad_u16"));
  table.add(laneRow<[](uint32_t a, uint32_t b, uint32_t c) { return distance(a, b) + c; }>("v_sad_u32"));
  table.add(laneRow<[](uint32_t a, uint32_t b, uint32_t c) { return byteDifferences(a, b, true) + c; }>("v_msad_u8"));
  table.add(laneRow<fourWindows<false>>("v_qsad_pk_u16_u8"));
  table.add(laneRow<fourWindows<true>>("v_mqsad_pk_u16_u8"));
  table.add({.mnemonic = "v_mqsad_u32_u8",
             .execute = executeFourWindows32,
             .modified = executeFourWindows32,
             .types = {DataType::B128, DataType::B64, DataType::B32, DataType::B128}});
  table.add(laneRow<[](uint32_t a, uint32_t b, uint32_t c) {
    uint32_t result = 0; // of each byte; the low bit of `c` says whether halves are rounded up
    for (unsigned shift = 0; shift < 32; shift += 8)
      result |= ((a >> shift & 0xFF) + (b >> shift & 0xFF) + (c >> shift & 1)) >> 1 << shift;
    return result;
  }>("v_lerp_u8"));
}

} // namespace heddle::simulator
