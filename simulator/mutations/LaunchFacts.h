// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a run of a good kernel says about its mutants: that a change could not have made a difference in it. Watches the
// good kernel, not the mutants, and uses none of the checks, which the mutants are to test.
#pragma once
#include "simulator/memory/MemorySystem.h"
#include "simulator/memory/Watcher.h"
#include "simulator/mutations/GroupLog.h"
#include "simulator/mutations/Mutations.h"
#include <map>
#include <memory>
#include <set>

namespace heddle::simulator {

/// A mutant, and where.
struct MutantSite {
  uint64_t pc = 0; ///< in the file
  Mutation mutation;
  std::string buffer; ///< whose pages are others; then there is no instruction
};

/// Why a mutant is one that this launch cannot tell from the good kernel.
enum class LaunchReason : uint8_t {
  None,            ///< it may make a difference
  NothingThere,    ///< no lane was active, each time
  NothingUnderWay, ///< that a wait waited for
  NothingDepends,  ///< on a wait
  NotShared,       ///< what a barrier lies between
  NothingStored,   ///< that buffer_wbl2 would write back
  NothingRead,     ///< after buffer_inv
  Uncached,        ///< the pages are in no L2
  SystemScope,     ///< of all accesses, so that pages mean nothing
};

class LaunchFacts final : public Watcher {
public:
  explicit LaunchFacts(const std::vector<MutantSite> &sites);

  uint64_t codeBase = 0; ///< where the file's address 0 lies; known before the first instruction

  void groupBegins(Workgroup &group) override;
  void groupEnds(Workgroup &group) override;
  void beforeInstruction(Wave &wave, const Instruction &instruction) override;
  void issued(Wave &wave, MemoryRequest &request) override;

  /// Of each site, for this run.
  std::vector<LaunchReason> reasons() const;

private:
  struct Group {
    std::unique_ptr<GroupLog> log;
    bool stored[4] = {};          ///< by scope
    std::set<size_t> invalidated; ///< sites whose buffer_inv comes later
  };
  void judgeOrder(size_t index, GroupLog &log);
  void noteStore(Wave &wave, const MemoryRequest &request);
  void noteLoad(Wave &wave, const MemoryRequest &request);
  void judgeAccess(Wave &wave, const MemoryRequest &request, size_t index);
  void judgePages(const Wave &wave, const MemoryRequest &request);
  void forget(size_t index) { answers[index] = LaunchReason::None; }

  size_t left = size_t(1) << 23; ///< 128 MB for the logs of the workgroups that are alive
  const std::vector<MutantSite> &sites;
  std::vector<LaunchReason> answers;            ///< while nothing speaks against it
  std::vector<bool> hadLanes;                   ///< by site
  std::map<uint64_t, std::vector<size_t>> atPc; ///< sites, by address in the file
  std::map<const Workgroup *, Group> groups;    ///< that are alive
  std::map<const Device *, std::array<bool, 4>> stored;
  std::map<const Wave *, std::set<size_t>> taken; ///< removed cache operations that may be in flight
};

} // namespace heddle::simulator
