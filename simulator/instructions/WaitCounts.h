// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The immediate of s_waitcnt: how many operations may remain in flight. vmcnt is in bits 3:0 and 15:14, lgkmcnt in bits
// 11:8, expcnt, which compute kernels have no use for, in bits 6:4; a field of ones is no wait. Source: AMD Instinct
// MI300 (CDNA3) Instruction Set Architecture, SOPP.
#pragma once
#include <cstdint>

namespace heddle::simulator {

struct WaitCounts {
  static constexpr unsigned anyVector = 63, anyLocal = 15; ///< no wait
  unsigned vector = anyVector, local = anyLocal;

  static constexpr WaitCounts of(uint16_t immediate) {
    return {(immediate & 15u) | (immediate >> 14 & 3u) << 4, immediate >> 8 & 15u};
  }
  /// Puts the counts into an immediate, whose other bits stay.
  constexpr uint16_t into(uint16_t immediate) const {
    return uint16_t((immediate & 0x30f0u) | (vector & 15) | (vector >> 4) << 14 | local << 8);
  }
  constexpr bool waitsVector() const { return vector < anyVector; }
  constexpr bool waitsLocal() const { return local < anyLocal; }
  constexpr bool demandsNothing() const { return !waitsVector() && !waitsLocal(); }
};

} // namespace heddle::simulator
