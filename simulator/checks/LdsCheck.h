// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order of LDS accesses, of loads to LDS, and of barriers (Check::LdsRace, LdsSameValue, BarrierExit). An access
// counts as over for other waves when a wait proved it before a barrier at which both met; for its own wave, DS
// operations are in order, and loads to LDS are ordered with them by waits only. Verdicts do not depend on when the
// policy performs an operation, except that an atomic operation takes over what the wave knew whose value it finds.
#pragma once
#include "simulator/checks/Findings.h"
#include "simulator/checks/LdsLandings.h"
#include "simulator/checks/LdsShadow.h"
#include "simulator/memory/Watcher.h"
#include <map>
#include <memory>
#include <unordered_map>

namespace heddle::simulator {

/// The operations of a stream that may not be over for everyone.
class LdsHistory {
public:
  struct Entry {
    uint32_t time;
    uint32_t sequence; ///< among the operations of its counter
    const Instruction *instruction;
    WaveTime when;
  };
  void add(const Entry &entry);
  /// What is not later than `time` is of no interest any more.
  void forget(uint32_t time);
  const Entry *at(uint32_t time) const; ///< null when it was too long ago
  /// Up to which time all is over, when the operations up to `sequence` are, and it is `now`.
  uint32_t overBy(uint32_t sequence, uint32_t now);

private:
  void dropFirst(size_t count);
  std::vector<Entry> entries; ///< by time, and so by sequence
  size_t open = 0;            ///< those before it were over when overBy() was asked last
};

class LdsCheck final : public Watcher {
public:
  /// Two operations that wrote the same bytes in no order, at least one of them a load to LDS. What they brought is
  /// compared when it has landed.
  struct Comparison {
    uint32_t laterStream = 0, laterTime = 0;
    Site earlier, later;
    Likelihood likelihood;
    std::vector<LdsDoubt> cells; ///< of one earlier operation
  };
  struct GroupState {
    LdsShadow shadow;
    LdsLandings landings;
    std::vector<Comparison> comparisons;
    size_t doubts = 0; ///< cells of them
    /// Of the first comparison of two instructions.
    std::map<std::pair<const Instruction *, const Instruction *>, Finding> described;
  };
  static constexpr size_t mostDoubts = 1 << 17; ///< of a workgroup: 6 MiB. What is beyond is reported as a race

  /// What it knows of a wave, in WaveChecks.
  struct WaveState {
    /// An operation that hands on a clock: its own, and what it finds.
    struct Handover {
      const MemoryRequest *request;
      LdsClock own, found;
    };
    /// A load to LDS that has not landed.
    struct Flight {
      uint32_t serial, time;
    };
    GroupState *group = nullptr;
    LdsShadow *shadow = nullptr; ///< of the group
    std::vector<Flight> flights;
    LdsClock known;                             ///< of all waves' streams; its own by waits
    uint32_t localIssued = 0, vectorIssued = 0; ///< operations that its counters have counted
    std::vector<Handover> handovers;
    LdsHistory local, loads;
    // At the last barrier that it met, or that opened after its end:
    uint32_t timeAtBarrier = 0, localAtBarrier = 0, vectorAtBarrier = 0;
    bool scalarsAtBarrier = false;
    const Instruction *barrier = nullptr;
    uint32_t barriersMet = 0;
  };

  LdsCheck(Findings &findings, CheckSet checks) : findings(findings), checks(checks) {}

  void groupBegins(Workgroup &group) override;
  void groupEnds(Workgroup &group) override;
  void landed(Wave &wave, MemoryRequest &request) override;
  void issued(Wave &wave, MemoryRequest &request) override;
  void performed(Wave &wave, MemoryRequest &request) override;
  void completed(Wave &wave, MemoryRequest &request) override;
  void barrierOpens(Workgroup &group, bool someEnded) override;

private:
  void touchLanes(Wave &wave, const MemoryRequest &request, const LdsOperation &operation);
  void updateOver(Wave &wave);
  void joinAtBarrier(Workgroup &group);
  void reportRace(Wave &wave, const MemoryRequest &request, const LdsOperation &operation, const LdsConflict &conflict);
  Finding describeRace(Wave &wave, const Site &earlier, const Site &later, const LdsOperation &operation,
                       const LdsConflict &conflict) const;
  static Likelihood likelihoodOf(const Wave &wave, const LdsOperation &operation, const LdsConflict &conflict);
  Finding withNotes(Finding finding, const LdsConflict &conflict) const;
  Site siteOf(Wave &wave, const MemoryRequest &request, const LdsConflict &conflict, bool isEarlier) const;
  void compareLater(Wave &wave, const MemoryRequest &request, const LdsOperation &operation);
  void settle(GroupState &group, bool isEnd);
  bool settle(const GroupState &group, const Comparison &comparison, bool isEnd);
  void reportExit(Workgroup &group);

  Findings &findings;
  CheckSet checks;
  std::unordered_map<const Workgroup *, std::unique_ptr<GroupState>> groups;
};

} // namespace heddle::simulator
