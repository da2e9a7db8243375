// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random calls of collectives by seed, on host devices against the plain reference.
#pragma once
#include "tests/multi_device/CollectiveRunner.h"
#include <string>
#include <vector>

namespace heddle::testing {

/// Calls of one kernel on one communicator, one after the other.
struct RandomCase {
  uint64_t seed = 0;
  std::vector<int> ordinals; ///< of the devices, by rank
  Collective collective;     ///< without sizes
  PlanOptions options;
  std::vector<std::pair<int64_t, int64_t>> sizes; ///< outer and inner of each call
  uint64_t firstEpoch = 1;
  Placement placement;
  bool special = false; ///< inputs with NaN, infinities, zeros of both signs
  bool threads = false; ///< each rank launches from a thread of its own
};

/// The kernel is the same for eight adjacent seeds, because making one takes longer than running it; all else
/// differs.
RandomCase randomCase(uint64_t seed);

std::string describe(const RandomCase &test);

/// The first difference from the reference, or the error, as text; empty when all is well.
std::string runCase(const RandomCase &test);

} // namespace heddle::testing
