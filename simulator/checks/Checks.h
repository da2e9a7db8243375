// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All checks of a run: passes what happens on to those that are switched on.
#pragma once
#include "simulator/checks/AccessCheck.h"
#include "simulator/checks/GroupRecorder.h"
#include "simulator/checks/LdsCheck.h"
#include "simulator/checks/OrderCheck.h"
#include "simulator/checks/PoisonCheck.h"
#include "simulator/checks/RegisterCheck.h"
#include "simulator/checks/SlackReads.h"
#include "simulator/memory/MemorySystem.h"
#include <optional>
#include <unordered_map>

namespace heddle::simulator {

/// What the checks know of a wave.
struct WaveChecks {
  WaveClock clock;
  RegisterCheck::WaveState registers;
  LdsCheck::WaveState lds;
  OrderCheck::WaveState order;
  PoisonCheck::WaveState poison;
};

/// What decides that no check has anything to do with an instruction, as is the case for most: none of its registers
/// has a load in flight or is uninitialised.
struct alignas(64) QuickPlan {
  static constexpr unsigned mostWords = 6;
  uint64_t bits[mostWords] = {};
  uint8_t words[mostWords] = {}; ///< the bits' numbers in a RegisterSet
  uint8_t count = 0;             ///< of words
  bool maySkip = false;          ///< else it has to be looked at anyway
  bool namesScc = false;
  uint32_t issueCycles = 0;
};
static_assert(sizeof(QuickPlan) == 64); // one line of the processor's cache
QuickPlan quickPlanOf(const Instruction &instruction);

class Checks : public Watcher {
public:
  Checks(MemorySystem &system, CheckSet checks);

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

  bool canWatchApart() const override { return !slack; }
  std::unique_ptr<Watcher> makeApart(MemorySystem &view) override;
  std::unique_ptr<RecordedGroup> takeRecord() override { return recorder->take(); }
  void repeat(Workgroup &group, const RecordedGroup &record) override;

  std::vector<ReportLine> notes() const;

  Findings findings;

private:
  template <typename Action>
  void each(Action action) {
    if (registers)
      action(*registers);
    if (lds)
      action(*lds);
    if (order)
      action(*order);
    if (recorder)
      action(*recorder);
    if (poison)
      action(*poison);
    if (access)
      action(*access);
    if (slack)
      action(*slack);
  }

  bool hasNothingToDo(const Wave &wave, const QuickPlan &plan) const;
  void addWaves(Workgroup &group);
  void dropWaves(Workgroup &group);
  void repeatEntry(Workgroup &group, const GroupRecord &record, const GroupRecord::Entry &entry,
                   MemoryRequest &request);
  void repeatRequest(Wave &wave, MemoryRequest &request);

  CheckSet checks;
  PerInstruction<QuickPlan, quickPlanOf> quickPlans;
  std::optional<RegisterCheck> registers;
  std::optional<LdsCheck> lds;
  std::optional<OrderCheck> order;
  std::optional<GroupRecorder>
      recorder; ///< for workgroups that run apart, whose order is checked when they are repeated
  std::optional<PoisonCheck> poison;
  std::optional<AccessCheck> access;
  std::optional<SlackReads> slack;                                     ///< where there is any
  std::unordered_map<const Wave *, std::unique_ptr<WaveChecks>> waves; ///< of the workgroups that are alive
  std::vector<std::unique_ptr<WaveChecks>> spare;
};

} // namespace heddle::simulator
