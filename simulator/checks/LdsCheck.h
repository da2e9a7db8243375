// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order of LDS accesses, of loads to LDS, and of barriers (Check::LdsRace, LdsSameValue, DmaAtEnd, BarrierExit). An
// access counts as over for other waves when a wait proved it before a barrier at which both met; for its own wave, DS
// operations are in order, and loads to LDS are ordered with them by waits only. Verdicts do not depend on when the
// policy performs an operation, except that an atomic operation takes over what the wave knew whose value it finds.
#pragma once
#include "simulator/checks/Findings.h"
#include "simulator/checks/LdsShadow.h"
#include "simulator/memory/Watcher.h"
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
  };
  void add(const Entry &entry);
  /// What is not later than `time` is of no interest any more.
  void forget(uint32_t time);
  const Entry *at(uint32_t time) const; ///< null when it was too long ago
  /// Up to which time all is over, when the operations up to `sequence` are, and it is `now`.
  uint32_t overBy(uint32_t sequence, uint32_t now);
  bool hasLaterThan(uint32_t time) const { return !entries.empty() && entries.back().time > time; }

private:
  void dropFirst(size_t count);
  std::vector<Entry> entries; ///< by time, and so by sequence
  size_t open = 0;            ///< those before it were over when overBy() was asked last
};

class LdsCheck final : public Watcher {
public:
  /// What it knows of a wave, in WaveChecks.
  struct WaveState {
    /// An operation that hands on a clock: its own, and what it finds.
    struct Handover {
      const MemoryRequest *request;
      LdsClock own, found;
    };
    LdsShadow *shadow = nullptr;
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
  void issued(Wave &wave, MemoryRequest &request) override;
  void performed(Wave &wave, MemoryRequest &request) override;
  void completed(Wave &wave, MemoryRequest &request) override;
  void barrierOpens(Workgroup &group, bool someEnded) override;

private:
  void touchLanes(Wave &wave, const MemoryRequest &request, const LdsOperation &operation);
  void updateOver(Wave &wave);
  static void closeEnded(Wave &wave);
  void joinAtBarrier(Workgroup &group);
  void reportRace(Wave &wave, const MemoryRequest &request, const LdsOperation &operation, const LdsConflict &conflict);
  Finding describeRace(Wave &wave, const Site &earlier, const Site &later, const LdsOperation &operation,
                       const LdsConflict &conflict) const;
  void reportLoadAtEnd(Wave &wave, const MemoryRequest &request);
  void reportExit(Workgroup &group);

  Findings &findings;
  CheckSet checks;
  std::unordered_map<const Workgroup *, std::unique_ptr<LdsShadow>> shadows;
};

} // namespace heddle::simulator
