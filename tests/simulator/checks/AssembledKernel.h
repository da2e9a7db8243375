// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests: a kernel from assembly text, one program for each of a few waves, near each other or far, run with checks
// under a policy and a schedule.
#pragma once
#include "simulator/Simulator.h"
#include <string>
#include <vector>

namespace heddle::simulator {

/// What the waves have in common.
enum class WavesOf { Group, Device, System };

/// Waves of one workgroup, or each in a workgroup or on a device of its own, with 8 KiB of LDS and 16 bytes of scratch
/// for each lane. Where a program begins:
///   v0 the work-item, v1 the lane times 4, v[2:3] the address of the lane's word of a buffer of 4 KiB whose words are
///   their number, in the memory of the first device, s2 the number of the program, s[4:5] the buffer, m0 0
/// Labels are one name space for all programs; each ends with `s_endpgm` that is added here.
class AssembledKernel {
public:
  explicit AssembledKernel(const std::vector<std::string> &programs, WavesOf together = WavesOf::Group,
                           const std::string &chip = "gfx950");
  SimulationReport run(const SimulationOptions &options);
  /// Word `index` of the buffer, after the run.
  uint32_t word(size_t index);

private:
  WavesOf together;
  uint32_t waves;
  Simulator simulator;
  LoadedObject &loaded;
  uint64_t buffer;
};

inline constexpr Policy allPolicies[] = {Policy::Earliest, Policy::Latest, Policy::Reordered, Policy::Random};
inline constexpr Schedule allSchedules[] = {Schedule::RunToBlock, Schedule::RoundRobin, Schedule::LeapFrog,
                                            Schedule::Frozen, Schedule::Random};

/// Calls `action(options)` for every policy, every schedule and a few seeds.
template <typename Action>
void forEachRun(Action action) {
  for (Policy policy : allPolicies)
    for (Schedule schedule : allSchedules)
      for (uint64_t seed = 0; seed < 3; ++seed) {
        SimulationOptions options;
        options.policy = policy;
        options.schedule = schedule;
        options.seed = seed;
        options.caches = true;
        options.instructionLimit = 1'000'000;
        action(options);
      }
}

} // namespace heddle::simulator
