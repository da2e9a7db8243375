// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What depends on bits that nothing has written (Check::Uninitialised).
#pragma once
#include "simulator/checks/Findings.h"
#include "simulator/memory/Watcher.h"

namespace heddle::simulator {

class PoisonCheck : public Watcher {
public:
  /// What it knows of a wave, in WaveChecks.
  struct WaveState {};

  PoisonCheck(Findings &findings, CheckSet checks) : findings(findings), checks(checks) {}

  void groupBegins(Workgroup &group) override;
  void groupEnds(Workgroup &group) override;
  void waveEnds(Wave &wave) override;
  void beforeInstruction(Wave &wave, const Instruction &instruction) override;
  void afterInstruction(Wave &wave, const Instruction &instruction) override;
  void issued(Wave &wave, MemoryRequest &request) override;
  void performed(Wave &wave, MemoryRequest &request) override;
  void landed(Wave &wave, MemoryRequest &request) override;
  void completed(Wave &wave, MemoryRequest &request) override;
  void barrierOpens(Workgroup &group, bool someEnded) override;
  void kernelBegins(Device &device) override;
  void kernelEnds(Device &device) override;

private:
  Findings &findings;
  CheckSet checks;
};

} // namespace heddle::simulator
