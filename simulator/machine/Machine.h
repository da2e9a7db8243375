// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the workgroups of a launch. One instruction of one wave at a time, always in the same order for the same
// options.
#pragma once
#include "simulator/machine/Launch.h"
#include "simulator/memory/MemoryPort.h"
#include "simulator/state/Program.h"
#include <functional>

namespace heddle::simulator {

struct RunOptions {
  Policy policy = Policy::Earliest;
  uint64_t seed = 0;                             ///< of the patterns in what nothing has written
  bool preloads = true;                          ///< whether the chip's firmware preloads kernel arguments
  uint32_t residentGroups = 0;                   ///< workgroups alive at once; 0: as many as the chip has compute units
  uint64_t instructionLimit = uint64_t(4) << 30; ///< wave-instructions of the whole launch
  /// Called before each instruction; slows the run down.
  std::function<void(const Wave &, const Instruction &)> trace;
};

struct RunStatistics {
  uint64_t instructions = 0; ///< executed by waves
  uint64_t waves = 0, groups = 0;
};

/// A fault with its place.
struct LocatedFault {
  Fault fault;
  std::array<uint32_t, 3> group;
  uint32_t wave;
  uint64_t pc;
  std::string text; ///< of the instruction; empty when there is none
};

class Machine {
public:
  Machine(AddressSpace &memory, Program &program, const Launch &launch, const RunOptions &options);
  ~Machine();

  /// Throws LocatedFault, or Error{WrongResult} when the limit is reached.
  RunStatistics run();

private:
  struct Resident;
  void admit(uint64_t number);
  void runTurn(Resident &resident);
  void runWave(Wave &wave, uint64_t most);
  template <bool traced>
  void step(Wave &wave, uint64_t most);
  void openBarrier(Workgroup &group);
  [[noreturn]] void reportLimit(uint64_t notStarted) const;

  Program &program;
  const Launch &launch;
  const RunOptions &options;
  MemoryPort port;
  RunStatistics statistics;
  std::vector<std::unique_ptr<Resident>> residents, idle;
};

} // namespace heddle::simulator
