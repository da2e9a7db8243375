// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a workgroup that runs apart does to global memory, and what the checks report of it meanwhile: its turn comes
// later, when all workgroups before it have had theirs, and then this is repeated. The order of global accesses is
// checked only there.
#pragma once
#include "simulator/checks/Findings.h"
#include "simulator/memory/Watcher.h"

namespace heddle::simulator {

class GroupRecord final : public RecordedGroup {
public:
  static constexpr size_t mostRequestBytes = UINT32_MAX; ///< entries say with 32 bits where a request lies
  explicit GroupRecord(size_t requestBytes = mostRequestBytes) : requestBytes(requestBytes) {}

  enum class Event : uint8_t { Issued, Completed, WaveEnds, BarrierOpens, Reported };
  struct Entry {
    Event event;
    uint8_t wave = 0; ///< in the workgroup
    RequestKind kind = RequestKind::Other;
    Scope scope = Scope::Wave;
    uint32_t value = 0; ///< where the request lies, its serial, whether some waves ended, or which report
    uint32_t times = 0; ///< of a barrier: where those of the waves begin
  };
  struct Report {
    Check check;
    const Instruction *first, *second;
    Likelihood likelihood;
    size_t index; ///< in `findings`
  };

  /// A request, as it was issued: addresses and data of lanes as far as they are of any use. Throws a Fault, which lets
  /// the workgroup run in its turn, when there is no room for it.
  void addRequest(const Wave &wave, const MemoryRequest &request);
  void readRequest(uint32_t offset, MemoryRequest &request) const;

  std::vector<Entry> entries;
  std::vector<Report> reports;
  std::vector<WaveTime> times; ///< of all waves when a barrier opens
  std::vector<Finding> findings;

private:
  void append(const void *bytes, size_t size);
  const size_t requestBytes; ///< at most
  std::vector<uint8_t> requests;
};

class GroupRecorder final : public Watcher {
public:
  explicit GroupRecorder(Findings &findings);

  void groupBegins(Workgroup &group) override;
  void issued(Wave &wave, MemoryRequest &request) override;
  void completed(Wave &wave, MemoryRequest &request) override;
  void waveEnds(Wave &wave) override;
  void barrierOpens(Workgroup &group, bool someEnded) override;
  std::unique_ptr<RecordedGroup> take();

private:
  Findings &findings;
  std::unique_ptr<GroupRecord> record;
};

} // namespace heddle::simulator
