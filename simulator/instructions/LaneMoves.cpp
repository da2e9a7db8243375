// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sources: CDNA 3 manual, DS_PERMUTE, DS_BPERMUTE, DS_SWIZZLE; CDNA 4 manual, V_PERMLANE16_SWAP, V_PERMLANE32_SWAP.
#include "simulator/instructions/LaneMoves.h"
#include <bit>

namespace heddle::simulator {

void permuteBackward(const uint32_t *addresses, uint32_t offset, const uint32_t *data, uint64_t active, Row &result) {
  Row moved;
  for (unsigned lane = 0; lane < waveLanes; ++lane) {
    unsigned source = (addresses[lane] + offset) / 4 % waveLanes;
    moved[lane] = active >> source & 1 ? data[source] : 0;
  }
  std::memcpy(result, moved, sizeof moved);
}

void permuteForward(const uint32_t *addresses, uint32_t offset, const uint32_t *data, uint64_t active, Row &result) {
  Row moved = {};
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    if (active >> lane & 1)
      moved[(addresses[lane] + offset) / 4 % waveLanes] = data[lane];
  std::memcpy(result, moved, sizeof moved);
}

unsigned swizzleSourceLane(uint16_t pattern, unsigned lane) {
  unsigned place = lane & 31, half = lane & 32, mask = pattern & 31;
  if (pattern >= 0xE000) { // as the inputs of a fast Fourier transform: bits of the place in reverse
    unsigned reversed = 0;
    for (unsigned bit = 0; bit < 5; ++bit)
      reversed |= (place >> bit & 1) << (4 - bit);
    return half | (reversed >> std::popcount(mask)) | (place & mask);
  }
  if (pattern >= 0xC000) { // rotation, bits of the mask stay
    unsigned amount = pattern >> 5 & 31;
    if (pattern >> 10 & 1)
      amount = 32 - amount;
    return half | (place & mask) | ((place + amount) & ~mask & 31);
  }
  if (pattern & 0x8000) // four lanes at a time
    return (lane & ~3u) | (pattern >> (2 * (lane & 3)) & 3);
  return half | ((((place & mask) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31)) & 31);
}

void swizzle(uint16_t pattern, const uint32_t *data, uint64_t active, Row &result) {
  Row moved;
  for (unsigned lane = 0; lane < waveLanes; ++lane) {
    unsigned source = swizzleSourceLane(pattern, lane);
    moved[lane] = active >> source & 1 ? data[source] : 0;
  }
  std::memcpy(result, moved, sizeof moved);
}

void swapRows(unsigned width, const uint32_t *first, const uint32_t *second, Row &newFirst, Row &newSecond) {
  for (unsigned lane = 0; lane < waveLanes; ++lane) {
    bool upper = lane & width;
    uint32_t ownFirst = first[lane], ownSecond = second[lane];
    newFirst[lane] = upper ? second[lane - width] : ownFirst;
    newSecond[lane] = upper ? ownSecond : first[lane + width];
  }
}

} // namespace heddle::simulator
