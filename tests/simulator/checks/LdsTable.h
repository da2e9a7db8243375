// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests of LDS: the table of two accesses of the same bytes with what may stand between them, and whether that
// orders them; the checks of LDS; a run in words.
#pragma once
#include "simulator/Simulator.h"
#include <fmt/format.h>

namespace heddle::simulator {

inline CheckSet ldsChecks() {
  return parseChecks("none,+lds-race,+lds-same-value,+barrier-exit");
}

inline std::string describe(const SimulationOptions &options) {
  return fmt::format("policy {} schedule {} seed {}", nameOf(options.policy), nameOf(options.schedule), options.seed);
}

enum class Access { Read, Write, Load, Add }; ///< Load: from memory straight to LDS; Add: an atomic operation
enum class Wait { None, OfTheOther, Right };  ///< for the other counter, or for that of the first access

struct LdsCell {
  Access first, second;
  bool barrier; ///< between them, after the wait
  Wait wait;

  /// With an end of line; empty when there is none.
  std::string waitText() const {
    bool isVector = (wait == Wait::Right) == (first == Access::Load);
    return wait == Wait::None ? "" : isVector ? "s_waitcnt vmcnt(0)\n" : "s_waitcnt lgkmcnt(0)\n";
  }
  std::string barrierText() const { return barrier ? "s_barrier\n" : ""; }
  /// DS operations of a wave are in order, and so are its loads to LDS; only a wait orders one with the other.
  bool racesWithinAWave() const { return (first == Access::Load) != (second == Access::Load) && wait != Wait::Right; }
  bool racesBetweenWaves() const {
    bool isHarmless = first == second && (first == Access::Read || first == Access::Add);
    return !isHarmless && !(barrier && wait == Wait::Right);
  }
};

template <typename Action>
void forEachLdsCell(Action action) {
  for (Access first : {Access::Read, Access::Write, Access::Load, Access::Add})
    for (Access second : {Access::Read, Access::Write, Access::Load, Access::Add})
      for (bool barrier : {false, true})
        for (Wait wait : {Wait::None, Wait::OfTheOther, Wait::Right})
          action(LdsCell{first, second, barrier, wait});
}

} // namespace heddle::simulator
