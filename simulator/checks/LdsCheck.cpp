// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Follows waits and barriers, and hands each LDS access to the shadow. Reports are in LdsReports.cpp.
#include "simulator/checks/LdsCheck.h"
#include "simulator/checks/Checks.h"
#include "simulator/memory/MemoryPort.h"
#include "simulator/state/Apertures.h"
#include "simulator/state/Workgroup.h"
#include <algorithm>
#include <bit>

namespace heddle::simulator {
namespace {

LdsCheck::WaveState &stateOf(Wave &wave) {
  return wave.checks->lds;
}

/// Where in LDS an address of the request leads; beyond all LDS when it leads elsewhere.
uint64_t ldsAddress(const MemoryRequest &request, unsigned lane) {
  return request.space == Space::Flat ? request.address[lane] - sharedAperture : request.address[lane];
}

bool reachesLds(const MemoryRequest &request) {
  if (request.kind == RequestKind::LoadToLds || request.space == Space::Lds)
    return true;
  if (request.space == Space::Flat)
    for (uint64_t rest = request.lanes; rest; rest &= rest - 1)
      if (ldsAddress(request, unsigned(std::countr_zero(rest))) < apertureSizeBytes)
        return true;
  return false;
}

/// Calls `action(address)` for each place of each active lane, but for those that it shares with the lane before.
template <typename Action>
void forPlaces(const MemoryRequest &request, Action action) {
  for (unsigned piece = 0; piece < request.pieces; ++piece) {
    uint64_t last = ~uint64_t(0);
    for (uint64_t rest = request.lanes; rest; rest &= rest - 1) {
      uint64_t address = ldsAddress(request, unsigned(std::countr_zero(rest))) + request.pieceOffset[piece];
      if (address != last)
        action(address);
      last = address;
    }
  }
}

/// A place of at most 8 bytes, the same for all lanes.
bool isUniform(const MemoryRequest &request) {
  if (request.pieces != 1 || request.bytes > 8 || request.kind == RequestKind::LoadToLds || !request.lanes)
    return false;
  uint64_t first = request.address[std::countr_zero(request.lanes)];
  for (uint64_t rest = request.lanes; rest; rest &= rest - 1)
    if (request.address[std::countr_zero(rest)] != first)
      return false;
  return true;
}

/// Whether a store lets go locks, which the wave has taken by atomic operations: at all that every lane writes. A lane
/// that writes anywhere else writes data.
bool letsGo(const LdsCheck::WaveState &state, uint32_t wave, const MemoryRequest &request) {
  bool all = request.lanes && state.shadow->hasAtomics(wave);
  if (all)
    forPlaces(request, [&](uint64_t address) {
      for (uint64_t at = address; all && at < address + request.bytes; at += 4)
        all = state.shadow->hasAtomicAfter(at, wave, state.timeAtBarrier);
    });
  return all;
}

LdsAccess accessOf(const LdsCheck::WaveState &state, uint32_t wave, const MemoryRequest &request) {
  switch (request.kind) {
  case RequestKind::LoadToLds:
    return LdsAccess::Load;
  case RequestKind::Atomic:
    return LdsAccess::Atomic;
  case RequestKind::Store:
    return letsGo(state, wave, request) ? LdsAccess::Atomic : LdsAccess::Write;
  default:
    return LdsAccess::Read;
  }
}

} // namespace

// ---- Histories ----

void LdsHistory::add(const Entry &entry) {
  constexpr size_t most = 1 << 16;
  if (entries.size() == most) // a kernel without barriers: reports about its first half lack an instruction
    dropFirst(most / 2);
  entries.push_back(entry);
}

void LdsHistory::forget(uint32_t time) {
  auto first = std::upper_bound(entries.begin(), entries.end(), time,
                                [](uint32_t value, const Entry &entry) { return value < entry.time; });
  dropFirst(size_t(first - entries.begin()));
}

void LdsHistory::dropFirst(size_t count) {
  entries.erase(entries.begin(), entries.begin() + ptrdiff_t(count));
  open -= std::min(open, count);
}

const LdsHistory::Entry *LdsHistory::at(uint32_t time) const {
  auto found = std::lower_bound(entries.begin(), entries.end(), time,
                                [](const Entry &entry, uint32_t value) { return entry.time < value; });
  return found != entries.end() && found->time == time ? &*found : nullptr;
}

uint32_t LdsHistory::overBy(uint32_t sequence, uint32_t now) {
  while (open > 0 && entries[open - 1].sequence > sequence)
    --open;
  while (open < entries.size() && entries[open].sequence <= sequence)
    ++open;
  return open < entries.size() ? entries[open].time - 1 : now;
}

// ---- Workgroups and waves ----

void LdsCheck::groupBegins(Workgroup &group) {
  auto &place = groups[&group];
  if (!place)
    place = std::make_unique<GroupState>();
  place->shadow.start(uint32_t(group.lds.size()), uint32_t(group.waves.size()));
  place->landings.clear();
  place->comparisons.clear();
  place->described.clear();
  place->doubts = 0;
  for (auto &wave : group.waves) {
    WaveState &state = stateOf(*wave);
    state.group = place.get();
    state.shadow = &place->shadow;
    state.known.over.fill(~uint32_t(0)); // of waves that there are not
    for (auto &each : group.waves)
      state.known.over[each->indexInGroup] = state.known.over[loadStream(each->indexInGroup)] = 0;
  }
}

// ---- Operations ----

void LdsCheck::issued(Wave &wave, MemoryRequest &request) {
  WaveState &state = stateOf(wave);
  if (!state.shadow->sizeBytes())
    return;
  updateOver(wave);
  state.localIssued += bool(request.queues & MemoryRequest::Lds);
  state.vectorIssued += bool(request.queues & MemoryRequest::Vector);
  if (!reachesLds(request))
    return;
  uint32_t number = wave.indexInGroup;
  LdsOperation operation;
  operation.access = accessOf(state, number, request);
  operation.uniform = isUniform(request);
  operation.wave = number;
  operation.time = ++state.shadow->now;
  operation.before = state.known;
  // A wave's loads to LDS land in order, and so are its DS operations done; only waits order the two.
  bool isLoad = operation.access == LdsAccess::Load;
  operation.before.over[isLoad ? loadStream(number) : number] = ~uint32_t(0);
  operation.floor = operation.before.floor();
  (isLoad ? state.loads : state.local)
      .add({operation.time, isLoad ? state.vectorIssued : state.localIssued, request.instruction,
            wave.checks->clock.now});
  if (isLoad)
    state.flights.push_back({request.serial, operation.time});
  if (operation.access == LdsAccess::Atomic)
    state.handovers.push_back({&request, state.known, {}});
  touchLanes(wave, request, operation);
}

void LdsCheck::touchLanes(Wave &wave, const MemoryRequest &request, const LdsOperation &operation) {
  LdsShadow &shadow = *stateOf(wave).shadow;
  uint64_t moved[waveLanes];
  if (operation.access == LdsAccess::Load) {
    for (unsigned lane = 0; lane < waveLanes; ++lane)
      moved[lane] = uint64_t(request.ldsBase) + lane * request.ldsStride;
    shadow.touch(operation, {request.lanes, moved, 4u * request.words, nullptr});
  } else
    for (unsigned piece = 0; piece < request.pieces; ++piece) {
      uint64_t offset = request.pieceOffset[piece] - (request.space == Space::Flat ? sharedAperture : 0);
      for (unsigned lane = 0; lane < waveLanes; ++lane)
        moved[lane] = request.address[lane] + offset;
      const uint32_t *data = request.data[piece * request.bytes / 4];
      shadow.touch(operation,
                   {request.lanes, moved, request.bytes, request.kind == RequestKind::Store ? data : nullptr});
    }
  if (shadow.hasConflicts())
    for (const LdsConflict &conflict : shadow.takeConflicts())
      reportRace(wave, request, operation, conflict);
  if (shadow.hasDoubts())
    compareLater(wave, request, operation);
}

/// Atomic operations order waves as they find each other's values.
void LdsCheck::performed(Wave &wave, MemoryRequest &request) {
  WaveState &state = stateOf(wave);
  LdsShadow &shadow = *state.shadow;
  if ((state.handovers.empty() && !shadow.hasClocks()) || !reachesLds(request) ||
      request.kind == RequestKind::LoadToLds)
    return;
  auto handover = std::find_if(state.handovers.begin(), state.handovers.end(),
                               [&](const WaveState::Handover &each) { return each.request == &request; });
  if (handover != state.handovers.end()) {
    forPlaces(request, [&](uint64_t address) {
      if (address >= shadow.sizeBytes())
        return;
      LdsClock &clock = shadow.makeClockAt(address);
      if (request.land)
        handover->found.join(clock);
      if (request.kind == RequestKind::Atomic)
        clock.join(handover->own);
      else
        clock = handover->own;
    });
    return;
  }
  if (request.kind != RequestKind::Load || !isUniform(request))
    return;
  if (const LdsClock *clock = shadow.clockAt(ldsAddress(request, unsigned(std::countr_zero(request.lanes)))))
    state.handovers.push_back({&request, {}, *clock});
}

void LdsCheck::completed(Wave &wave, MemoryRequest &request) {
  WaveState &state = stateOf(wave);
  if (!state.shadow->sizeBytes())
    return;
  updateOver(wave);
  std::erase_if(state.handovers, [&](const WaveState::Handover &handover) {
    if (handover.request != &request)
      return false;
    state.known.join(handover.found);
    return true;
  });
}

/// What the counters have let go is over. LDS operations of flat instructions count in lgkmcnt as others do.
void LdsCheck::updateOver(Wave &wave) {
  WaveState &state = stateOf(wave);
  uint32_t number = wave.indexInGroup, now = state.shadow->now;
  state.known.over[number] = state.local.overBy(state.localIssued - uint32_t(wave.pending->local.size()), now);
  state.known.over[loadStream(number)] =
      state.loads.overBy(state.vectorIssued - uint32_t(wave.pending->vector.size()), now);
}

// ---- Barriers ----

void LdsCheck::barrierOpens(Workgroup &group, bool someEnded) {
  if (someEnded && checks.has(Check::BarrierExit))
    reportExit(group);
  joinAtBarrier(group);
}

/// A wave that has ended had waited for everything: s_endpgm does.
void LdsCheck::joinAtBarrier(Workgroup &group) {
  LdsClock all;
  for (auto &wave : group.waves) {
    updateOver(*wave);
    all.join(stateOf(*wave).known);
  }
  GroupState &state = *stateOf(*group.waves[0]).group;
  state.shadow.forgetUpTo(all.floor());
  if (state.comparisons.empty())
    state.landings.forgetUpTo(all.floor());
  for (auto &wave : group.waves) {
    WaveState &state = stateOf(*wave);
    uint32_t number = wave->indexInGroup;
    state.known = all;
    state.local.forget(all.over[number]);
    state.loads.forget(all.over[loadStream(number)]);
    state.timeAtBarrier = state.shadow->now;
    state.localAtBarrier = state.localIssued;
    state.vectorAtBarrier = state.vectorIssued;
    state.scalarsAtBarrier = !wave->pending->scalar.empty();
    state.barrier = wave->current;
    state.barriersMet += wave->state != Wave::State::Ended;
  }
}

} // namespace heddle::simulator
