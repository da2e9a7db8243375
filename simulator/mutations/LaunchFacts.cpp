// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For each site the reason why its mutant is the same, kept for as long as no run shows otherwise.
#include "simulator/mutations/LaunchFacts.h"
#include "simulator/memory/MemoryPort.h"
#include "simulator/state/Workgroup.h"
#include <algorithm>

namespace heddle::simulator {
namespace {

bool isWait(MutationKind kind) {
  return kind == MutationKind::WaitRemoved || kind == MutationKind::VectorCountWeakened ||
         kind == MutationKind::LocalCountWeakened || kind == MutationKind::WaitFieldDropped ||
         kind == MutationKind::WaitLate; // which demands no more, for a while, than one that is gone
}

/// What holds of a site until a run shows otherwise.
LaunchReason firstReason(const MutantSite &site) {
  const std::string &text = site.mutation.before;
  switch (site.mutation.kind) {
  case MutationKind::BarrierRemoved:
    return LaunchReason::NotShared;
  case MutationKind::WriteBackRemoved:
    return LaunchReason::NothingStored;
  case MutationKind::InvalidateRemoved:
    return LaunchReason::NothingRead;
  case MutationKind::ScopeNarrowed:
    if (text.starts_with("buffer_wbl2"))
      return LaunchReason::NothingStored;
    if (text.starts_with("buffer_inv"))
      return LaunchReason::NothingRead;
    // Of loads the order is not given up: whether they acquire is said by their scope.
    return site.mutation.narrowed == Scope::Agent && text.find("_store_") != std::string::npos ? LaunchReason::Uncached
                                                                                               : LaunchReason::None;
  case MutationKind::PageCached:
    return LaunchReason::SystemScope;
  default:
    return isWait(site.mutation.kind) ? LaunchReason::NothingUnderWay : LaunchReason::None;
  }
}

bool isInUncachedPages(const Wave &wave, const MemoryRequest &request) {
  const MemorySystem &system = wave.memory->system;
  for (uint64_t rest = request.lanes; rest; rest &= rest - 1) {
    const Allocation *allocation = system.home.owner(request.address[std::countr_zero(rest)]);
    if (!allocation || system.pageTypeOf(*allocation, *wave.unit->device) != PageType::Uncached)
      return false;
  }
  return true;
}

} // namespace

LaunchFacts::LaunchFacts(const std::vector<MutantSite> &sites) : sites(sites), hadLanes(sites.size()) {
  for (size_t i = 0; i < sites.size(); ++i) {
    answers.push_back(firstReason(sites[i]));
    if (sites[i].buffer.empty())
      atPc[sites[i].pc].push_back(i);
  }
}

void LaunchFacts::groupBegins(Workgroup &group) {
  groups[&group].log = std::make_unique<GroupLog>(group.waves.size(), left);
}

void LaunchFacts::groupEnds(Workgroup &group) {
  for (size_t i = 0; i < sites.size(); ++i)
    if (answers[i] != LaunchReason::None)
      judgeOrder(i, *groups[&group].log);
  for (auto &wave : group.waves)
    taken.erase(wave.get());
  groups.erase(&group);
}

void LaunchFacts::judgeOrder(size_t index, GroupLog &log) {
  const MutantSite &site = sites[index];
  Order order = Order::Idle;
  if (isWait(site.mutation.kind))
    order = log.withWait(codeBase + site.pc, site.mutation.left);
  else if (site.mutation.kind == MutationKind::BarrierRemoved)
    order = log.withoutBarrier(codeBase + site.pc);
  if (order == Order::Needed)
    forget(index);
  else if (order == Order::Free && isWait(site.mutation.kind))
    answers[index] = LaunchReason::NothingDepends;
}

void LaunchFacts::beforeInstruction(Wave &wave, const Instruction &instruction) {
  groups[wave.workgroup].log->step(wave, instruction);
  if (taken.empty() || instruction.mnemonic != "s_waitcnt")
    return;
  // A count above 0 means another operation when one is missing.
  WaitCounts counts = WaitCounts::of(instruction.immediate);
  auto found = taken.find(&wave);
  if (found == taken.end() || !counts.waitsVector())
    return;
  if (counts.vector > 0)
    for (size_t index : found->second)
      forget(index);
  taken.erase(found);
}

/// The caches of a unit show its own stores to all of its waves; others see them when they are written back.
void LaunchFacts::noteStore(Wave &wave, const MemoryRequest &request) {
  if (!request.lanes || isInUncachedPages(wave, request))
    return;
  groups[wave.workgroup].stored[unsigned(request.scope)] = true;
  stored[wave.unit->device][unsigned(request.scope)] = true;
}

void LaunchFacts::noteLoad(Wave &wave, const MemoryRequest &request) {
  for (size_t index : groups[wave.workgroup].invalidated)
    if (request.scope < sites[index].mutation.scope || request.scope < Scope::Agent)
      forget(index);
}

void LaunchFacts::judgeAccess(Wave &wave, const MemoryRequest &request, size_t index) {
  const Mutation &mutation = sites[index].mutation;
  bool isGone = mutation.kind == MutationKind::WriteBackRemoved || mutation.kind == MutationKind::InvalidateRemoved;
  if (isGone) {
    taken[&wave].insert(index);
    if (wave.pending->vector.size() + 2 >= vectorCapacity) // a full counter is a wait as well
      forget(index);
  }
  if (request.isScalar() && (isGone || mutation.kind == MutationKind::ScopeNarrowed))
    forget(index); // of the scalar cache no argument is made
  if (request.kind == RequestKind::WriteBack) {
    // What the device's other waves have released to the device, this one may pass on to everyone.
    auto has = [&](Scope scope) {
      return mutation.scope == Scope::System ? stored[wave.unit->device][unsigned(scope)]
                                             : groups[wave.workgroup].stored[unsigned(scope)];
    };
    for (unsigned scope = 0; scope < unsigned(mutation.scope); ++scope)
      if (has(Scope(scope)))
        forget(index);
  } else if (request.kind == RequestKind::Invalidate)
    groups[wave.workgroup].invalidated.insert(index);
  else if (request.lanes) {
    hadLanes[index] = true;
    if (answers[index] == LaunchReason::Uncached && !isInUncachedPages(wave, request))
      forget(index);
  }
}

/// A buffer is one for each device, `flags@3`, where there are several.
void LaunchFacts::judgePages(const Wave &wave, const MemoryRequest &request) {
  uint64_t lanes = request.isScalar() ? 1 : request.lanes;
  for (size_t i = 0; i < sites.size(); ++i)
    for (uint64_t rest = answers[i] == LaunchReason::SystemScope ? lanes : 0; rest; rest &= rest - 1) {
      const Allocation *allocation = wave.memory->system.home.owner(request.address[std::countr_zero(rest)]);
      if (allocation && allocation->name.substr(0, allocation->name.find('@')) == sites[i].buffer)
        return forget(i);
    }
}

void LaunchFacts::issued(Wave &wave, MemoryRequest &request) {
  groups[wave.workgroup].log->request(wave, request);
  if (auto found = atPc.find(request.instruction->pc - codeBase); found != atPc.end())
    for (size_t index : found->second)
      judgeAccess(wave, request, index);
  bool isGlobal = request.space == Space::Global || request.space == Space::Flat || request.isScalar();
  if (isGlobal && request.scope < Scope::System)
    judgePages(wave, request);
  bool isVector = request.queues & MemoryRequest::Vector && request.space != Space::Scratch;
  if (isVector && (request.kind == RequestKind::Store || request.kind == RequestKind::Atomic))
    noteStore(wave, request);
  if (isVector && request.lanes && (request.kind == RequestKind::Load || request.kind == RequestKind::LoadToLds))
    noteLoad(wave, request);
}

std::vector<LaunchReason> LaunchFacts::reasons() const {
  std::vector<LaunchReason> result = answers;
  for (size_t i = 0; i < sites.size(); ++i) {
    MutationKind kind = sites[i].mutation.kind;
    const std::string &text = sites[i].mutation.before;
    bool isAccess =
        kind == MutationKind::OffsetMoved || kind == MutationKind::LoadsSwapped ||
        (kind == MutationKind::ScopeNarrowed && !text.starts_with("buffer_wbl2") && !text.starts_with("buffer_inv"));
    if (isAccess && !hadLanes[i])
      result[i] = LaunchReason::NothingThere;
  }
  return result;
}

} // namespace heddle::simulator
