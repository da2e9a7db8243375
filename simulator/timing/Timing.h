// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The estimate of time: watches a simulated launch on one device and passes what the waves of one compute unit execute
// to UnitModel; of all other workgroups it only sees which lines of memory they touch. docs/timing.md.
#pragma once
#include "simulator/memory/Watcher.h"
#include "simulator/timing/TraceEvents.h"
#include "simulator/timing/UnitModel.h"

namespace heddle::simulator {

struct TimingOptions {
  uint64_t launchGroups = 1;   ///< workgroups of the launch
  unsigned residentGroups = 1; ///< of the kernel that a compute unit holds at once
  unsigned groups = 0;         ///< to be timed; 0: twice as many as are resident. Never more than a compute unit gets
  /// Kept at once, as many of each wave; what comes then is not timed. A workgroup that is alone on its compute unit
  /// needs few: more wait only for the begin of another workgroup.
  uint64_t mostOperations = uint64_t(1) << 24;
  TraceEvents *trace = nullptr;
};

struct TimingReport {
  UnitTimes unit;          ///< of the workgroups that were timed
  uint64_t unitGroups = 0; ///< that a compute unit gets
  unsigned timedGroups = 0, residentGroups = 0;
  uint64_t activeUnits = 0; ///< that get any
  uint64_t untimed = 0;     ///< instructions of timed workgroups that were left out
  uint64_t ldsInstructions = 0, ldsConflictCycles = 0;
  MemoryTraffic traffic;
  double unitCycles = 0;   ///< of all workgroups of the compute unit
  double memoryCycles = 0; ///< that the device's memory takes for the traffic, at the attainable rate
  double lastLevelCycles = 0;
  double cycles = 0; ///< the most of these three
  double seconds = 0;
  std::array<double, boundCount> shares{}; ///< of `cycles`; their sum is 1
  double matrixOperationsPerSecond = 0;    ///< of the launch
};

class Timing final : public Watcher {
public:
  Timing(const Chip &chip, const TimingOptions &options);
  ~Timing() override;

  void groupBegins(Workgroup &group) override;
  void waveEnds(Wave &wave) override;
  void beforeInstruction(Wave &wave, const Instruction &instruction) override;
  void afterInstruction(Wave &wave, const Instruction &instruction) override;
  void issued(Wave &wave, MemoryRequest &request) override;

  /// When the launch has ended.
  TimingReport report();
  /// Of TimingReport::unit.instructions, by index.
  const TimedInstruction &instruction(size_t index) const { return instructions[index]; }

private:
  struct TimedWave {
    size_t group = 0;
    unsigned index = 0;
    bool isCut = false; ///< no more of it is kept
  };
  TimedWave *timedWave(const Wave &wave);
  uint32_t indexOf(Wave &wave, const Instruction &instruction);
  LevelCounts touch(Wave &wave, const MemoryRequest &request, bool isTimed);
  void addRequest(Wave &wave, const MemoryRequest &request);

  const Chip &chip;
  const TimingModel &model;
  TimingOptions options;
  uint64_t units, unitGroups;
  unsigned planned;
  MemoryLevels levels;
  Disassembler disassembler;
  std::deque<TimedInstruction> instructions;
  std::unordered_map<const Instruction *, uint32_t> indices;
  std::unordered_map<const Wave *, TimedWave> waves;
  const Wave *lastWave = nullptr; ///< that was asked for, and what was found
  TimedWave *lastTimed = nullptr;
  TimedOperation operation; ///< of the instruction that executes
  UnitModel unit;
  uint64_t nextGroup = 0, pushed = 0, untimed = 0, ldsInstructions = 0, ldsConflictCycles = 0;
};

} // namespace heddle::simulator
