// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a launch says, and the checks that are the same for every driver.
#pragma once
#include "runtime/Buffer.h"
#include "runtime/Module.h"
#include <array>
#include <cstdint>
#include <variant>
#include <vector>

namespace heddle {

/// A pointer argument: an address of device memory, which may lie inside a buffer.
struct DeviceAddress {
  DeviceAddress(uint64_t value) : value(value) {}
  DeviceAddress(const Buffer &buffer) : value(buffer.address()) {}
  uint64_t value;
};

/// A scalar argument: its bits, zero-extended; parseScalar makes them.
struct ScalarBits {
  uint64_t value;
};

using LaunchArgument = std::variant<DeviceAddress, ScalarBits>;

struct Launch {
  Kernel kernel;
  std::array<int64_t, 3> grid = {1, 1, 1};    ///< program instances along x, y, z
  std::vector<LaunchArgument> arguments = {}; ///< in the kernel's order
  bool cooperative = false; ///< every instance lives at once, so that instances may wait for each other
  /// Of real time, where a kernel can be stopped: on the host (0: HEDDLE_LAUNCH_TIMEOUT) and on simulated devices (0:
  /// HEDDLE_LAUNCH_TIMEOUT while it only waits, else as many instructions as a launch may have).
  double timeoutSeconds = 0;
};

/// Throws Error{Input} for a time limit that is neither 0 nor above 0 and at most 10^6, a grid out of range (1 to
/// 2^31-1 each, below 2^31 in all), a missing or extra argument, a pointer for a scalar or the reverse, a scalar too
/// wide for its type, or one that breaks its divisibility.
void checkLaunch(const Launch &launch);

/// The arguments' values, 8 bytes each.
std::vector<uint64_t> argumentSlots(const Launch &launch);

} // namespace heddle
