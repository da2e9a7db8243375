// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Registers while a load into them is in flight (Check::RegisterWait), in whatever order the policy lets results land.
//
// Sources (addresses, data to store, M0) are read at issue and are free at once. What one in-order queue brings into
// the same register lands in the order of issue, so that two such loads need no wait between them; neither do two loads
// of halves. A lane that was inactive at the load is not waited for.
#pragma once
#include "simulator/checks/Findings.h"
#include "simulator/checks/PerInstruction.h"
#include "simulator/checks/RegisterUse.h"
#include "simulator/memory/Watcher.h"
#include <functional>
#include <optional>
#include <vector>

namespace heddle::simulator {

class RegisterCheck final : public Watcher {
public:
  /// What it knows of a wave, in WaveChecks.
  struct WaveState {
    std::vector<const MemoryRequest *> loads; ///< in flight, in order of issue
    RegisterSet destinations;                 ///< registers into which any of them goes,
    bool areOld = false;                      ///< and perhaps others, of loads that are over
  };

  explicit RegisterCheck(Findings &findings) : findings(findings) {}

  void beforeInstruction(Wave &wave, const Instruction &instruction) override;
  void issued(Wave &wave, MemoryRequest &request) override;
  void completed(Wave &wave, MemoryRequest &request) override;

private:
  static bool touchesLoads(WaveState &state, const RegisterMask &registers);
  enum class Conflict { Read, Write, SecondLoad };
  void checkUse(Wave &wave, const Instruction &executed, const Instruction &reported, const RegisterUse &use);
  using Loads = std::vector<const MemoryRequest *>;
  struct Place {
    unsigned index; ///< of the register
    int lane;
    uint32_t delay = 0; ///< until the second load can land
  };
  /// The first register of the span into which the load goes in one of the lanes.
  static std::optional<Place> sharedPlace(const MemoryRequest &load, const RegisterSpan &span, uint64_t lanes);
  /// `needed` are all loads that must be over before the instruction, `load` among them.
  void report(Wave &wave, const MemoryRequest &load, const Instruction &instruction, Conflict conflict,
              const Place &place, const std::function<Loads()> &needed);

  Findings &findings;
  PerInstruction<RegisterUse, registerUseOf> uses;
};

} // namespace heddle::simulator
