// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What depends on bits that nothing has written (Check::Uninitialised).
//
// At the start of a wave the registers that the launch does not set, LDS and scratch are poison, and so are buffers
// that are marked so (Allocation::initialised). Copies, bitwise operations, shifts, selections and moves between lanes
// carry poison bit by bit or byte by byte; of everything else the result is poison when any bit of a source is. It is
// reported when it decides a branch, an address, EXEC, M0, a descriptor, or what others look for: data of atomics, and
// of stores that a whole device sees. What is only stored is not reported: AddressSpace::countUnwritten tells it of a
// buffer.
//
// Known gaps:
//   - a matrix product is poison as a whole when anything of its factors is;
//   - MODE and other hardware registers count as written, and so does a clock;
//   - an atomic operation other than a swap leaves the poison of memory as it was;
//   - of several bytes of which some are poison, and of all that a workgroup stored, one origin is named.
#pragma once
#include "simulator/checks/Findings.h"
#include "simulator/checks/PerInstruction.h"
#include "simulator/checks/PoisonMemory.h"
#include "simulator/checks/PoisonStep.h"
#include "simulator/memory/Watcher.h"
#include <unordered_map>

namespace heddle::simulator {

class PoisonCheck final : public Watcher, private PoisonReporter {
public:
  /// What it knows of a wave, in WaveChecks.
  struct WaveState {
    std::unique_ptr<PoisonRegisters> registers;
    PoisonBytes scratch;
    std::shared_ptr<PoisonBytes> lds;   ///< of the workgroup
    std::vector<CarriedPoison> carried; ///< by requests that are in flight
    PoisonOfScc scc;                    ///< of the instruction that executes
  };

  PoisonCheck(Findings &findings, MemorySystem &system) : findings(findings), system(system) {}

  void groupBegins(Workgroup &group) override;
  void groupEnds(Workgroup &group) override;
  void beforeInstruction(Wave &wave, const Instruction &instruction) override;
  void afterInstruction(Wave &wave, const Instruction &instruction) override;
  void issued(Wave &wave, MemoryRequest &request) override;
  void performed(Wave &wave, MemoryRequest &request) override;
  void landed(Wave &wave, MemoryRequest &request) override;
  void kernelBegins(Device &device) override;
  /// A request of a workgroup that ran apart has been repeated.
  void repeated(Wave &wave, const MemoryRequest &request);

  /// Global memory keeps its flags: a workgroup that would change them by more than writing, or that would name where
  /// poison came from, faults. What others have found before it counts for that.
  bool isApart = false;

private:
  /// Where poison that came from memory was read.
  struct ListedOrigin {
    Site site;
    std::string place;
  };

  void reached(Wave &wave, const Instruction &instruction, PoisonSink sink, PoisonOrigin origin, int lane) override;
  ReportLine originLine(const ListedOrigin &origin) const;
  PoisonOrigin originOf(Wave &wave, const MemoryRequest &request, const UnwrittenRead &read);
  bool mayCarry(Wave &wave, const MemoryRequest &request);
  void executeIndexed(Wave &wave, const Instruction &instruction);
  void gather(Wave &wave, const MemoryRequest &request, CarriedPoison &carried);
  void moveBetweenLanes(Wave &wave, const MemoryRequest &request, CarriedPoison &carried);
  void finishStore(Wave &wave, const MemoryRequest &request, Allocation *firstCopy, PoisonOrigin origin);
  void reportChange(Wave &wave, const MemoryRequest &request, PoisonOrigin origin, int lane);
  void landVector(Wave &wave, const MemoryRequest &request, const CarriedPoison *carried);
  ListedOrigin describe(PoisonOrigin origin) const;

  Findings &findings;
  MemorySystem &system;
  PerInstruction<PoisonPlan, poisonPlanOf> plans;
  std::vector<ListedOrigin> origins; ///< from firstListedOrigin on
  std::unordered_map<const Instruction *, PoisonOrigin> originsByLoad;
  std::unordered_map<const Allocation *, PoisonOrigin> copied; ///< what stores brought there
  std::vector<std::unique_ptr<PoisonRegisters>> spare;         ///< of waves that have ended
  std::vector<std::shared_ptr<PoisonBytes>> spareLds;          ///< of workgroups that have ended
  bool hasUnwrittenBuffers = false;
};

} // namespace heddle::simulator
