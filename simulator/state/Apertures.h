// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where generic (flat) addresses of LDS and of private memory lie. The machine's own values; code reads them from
// src_shared_base and src_private_base.
#pragma once
#include <cstdint>

namespace heddle::simulator {

inline constexpr uint64_t sharedAperture = uint64_t(1) << 48;
inline constexpr uint64_t privateAperture = uint64_t(2) << 48;
inline constexpr uint64_t apertureSizeBytes = uint64_t(1) << 32;

/// Whether a flat address leads to LDS or scratch.
constexpr bool isOnChip(uint64_t flatAddress) {
  return flatAddress - sharedAperture < apertureSizeBytes || flatAddress - privateAperture < apertureSizeBytes;
}

} // namespace heddle::simulator
