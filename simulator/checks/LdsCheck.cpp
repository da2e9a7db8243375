// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
  return request.kind == RequestKind::LoadToLds || request.space == Space::Lds || request.space == Space::Flat;
}

/// Calls `action(lane, address)` for each active lane whose address differs from the one before.
template <typename Action>
void forPlaces(const MemoryRequest &request, Action action) {
  uint64_t last = ~uint64_t(0);
  for (uint64_t rest = request.lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    uint64_t address = ldsAddress(request, lane);
    if (address != last)
      action(lane, address);
    last = address;
  }
}

/// A place of at most 8 bytes, the same for all lanes.
bool isUniform(const MemoryRequest &request) {
  if (request.pieces != 1 || request.bytes > 8 || request.kind == RequestKind::LoadToLds)
    return false;
  unsigned places = 0;
  forPlaces(request, [&](unsigned, uint64_t) { ++places; });
  return places == 1;
}

LdsAccess accessOf(const LdsCheck::WaveState &state, uint32_t wave, const MemoryRequest &request) {
  switch (request.kind) {
  case RequestKind::LoadToLds:
    return LdsAccess::Load;
  case RequestKind::Atomic:
    return LdsAccess::Atomic;
  case RequestKind::Store: {
    // Who has taken a lock by an atomic operation may let it go by a store.
    if (!request.lanes)
      return LdsAccess::Write;
    uint64_t address = ldsAddress(request, unsigned(std::countr_zero(request.lanes)));
    bool letsGo = state.shadow->hasAtomicAfter(address, wave, state.localAtBarrier);
    return letsGo ? LdsAccess::Atomic : LdsAccess::Write;
  }
  default:
    return LdsAccess::Read;
  }
}

bool endsWave(const Wave &wave) {
  return wave.current && wave.current->mnemonic == "s_endpgm";
}

} // namespace

// ---- Histories ----

void LdsHistory::add(uint32_t epoch, const Instruction &instruction) {
  constexpr size_t most = 1 << 16;
  if (entries.size() == most) // a kernel without barriers: reports about its first half lack an instruction
    entries.erase(entries.begin(), entries.begin() + most / 2);
  entries.push_back({epoch, &instruction});
}

void LdsHistory::forget(uint32_t epoch) {
  auto first = std::upper_bound(entries.begin(), entries.end(), epoch,
                                [](uint32_t value, const auto &entry) { return value < entry.first; });
  entries.erase(entries.begin(), first);
}

const Instruction *LdsHistory::at(uint32_t epoch) const {
  auto found = std::lower_bound(entries.begin(), entries.end(), epoch,
                                [](const auto &entry, uint32_t value) { return entry.first < value; });
  return found != entries.end() && found->first == epoch ? found->second : nullptr;
}

// ---- Workgroups and waves ----

void LdsCheck::groupBegins(Workgroup &group) {
  auto &shadow = shadows[&group];
  if (!shadow)
    shadow = std::make_unique<LdsShadow>();
  shadow->start(uint32_t(group.lds.size()), uint32_t(group.waves.size()));
  for (auto &wave : group.waves)
    stateOf(*wave).shadow = shadow.get();
}

void LdsCheck::groupEnds(Workgroup &) {}
void LdsCheck::waveEnds(Wave &) {}
void LdsCheck::beforeInstruction(Wave &, const Instruction &) {}
void LdsCheck::afterInstruction(Wave &, const Instruction &) {}
void LdsCheck::landed(Wave &, MemoryRequest &) {}
void LdsCheck::kernelBegins(Device &) {}
void LdsCheck::kernelEnds(Device &) {}

// ---- Operations ----

void LdsCheck::issued(Wave &wave, MemoryRequest &request) {
  WaveState &state = stateOf(wave);
  updateOver(wave);
  state.localIssued += bool(request.queues & MemoryRequest::Lds);
  state.vectorIssued += bool(request.queues & MemoryRequest::Vector);
  if (!reachesLds(request) || !state.shadow->sizeBytes())
    return;
  uint32_t number = wave.indexInGroup;
  LdsOperation operation;
  operation.access = accessOf(state, number, request);
  operation.wave = number;
  operation.uniform = isUniform(request);
  operation.over = state.known;
  if (operation.access == LdsAccess::Load) {
    operation.epoch = state.vectorIssued;
    operation.over.over[loadStream(number)] = ~uint32_t(0); // its loads land in order
    state.loads.add(operation.epoch, *request.instruction);
  } else {
    operation.epoch = state.localIssued;
    operation.over.over[number] = ~uint32_t(0); // its DS operations are done in order
    state.local.add(operation.epoch, *request.instruction);
  }
  if (operation.access == LdsAccess::Atomic)
    state.handovers.push_back({&request, state.known, {}});
  touchLanes(wave, request, operation);
}

void LdsCheck::touchLanes(Wave &wave, const MemoryRequest &request, LdsOperation &operation) {
  LdsShadow &shadow = *stateOf(wave).shadow;
  if (operation.access == LdsAccess::Load) {
    for (uint64_t rest = request.lanes; rest; rest &= rest - 1) {
      unsigned lane = unsigned(std::countr_zero(rest));
      shadow.touch(operation, lane, uint64_t(request.ldsBase) + lane * request.ldsStride, 4u * request.words, nullptr);
    }
  } else
    forPlaces(request, [&](unsigned lane, uint64_t address) {
      for (unsigned piece = 0; piece < request.pieces; ++piece) {
        const uint32_t *data = &request.data[piece * request.bytes / 4][lane];
        shadow.touch(operation, lane, address + request.pieceOffset[piece], request.bytes,
                     request.kind == RequestKind::Store ? data : nullptr);
      }
    });
  if (!shadow.hasConflicts())
    return;
  for (const LdsConflict &conflict : shadow.takeConflicts())
    if (checks.has(Check::LdsRace))
      reportRace(wave, request, operation, conflict);
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
    forPlaces(request, [&](unsigned, uint64_t address) {
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
  if (endsWave(wave)) { // nothing waited for it
    if (request.kind == RequestKind::LoadToLds && checks.has(Check::DmaAtEnd))
      reportLoadAtEnd(wave, request);
    return;
  }
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
  uint32_t number = wave.indexInGroup;
  state.known.over[number] = state.localIssued - uint32_t(wave.pending->local.size());
  state.known.over[loadStream(number)] = state.vectorIssued - uint32_t(wave.pending->vector.size());
}

// ---- Barriers ----

void LdsCheck::barrierOpens(Workgroup &group, bool someEnded) {
  if (someEnded && checks.has(Check::BarrierExit))
    reportExit(group);
  joinAtBarrier(group);
}

/// A wave that has ended had done all its work before the barrier opened, but only what it waited for is over.
void LdsCheck::joinAtBarrier(Workgroup &group) {
  LdsClock all;
  for (auto &wave : group.waves) {
    if (wave->state != Wave::State::Ended)
      updateOver(*wave);
    all.join(stateOf(*wave).known);
  }
  for (auto &wave : group.waves) {
    WaveState &state = stateOf(*wave);
    uint32_t number = wave->indexInGroup;
    state.known = all;
    state.local.forget(all.over[number]);
    state.loads.forget(all.over[loadStream(number)]);
    state.localAtBarrier = state.localIssued;
    state.vectorAtBarrier = state.vectorIssued;
    state.scalarsAtBarrier = !wave->pending->scalar.empty();
    state.barrier = wave->current;
    state.barriersMet += wave->state != Wave::State::Ended;
  }
}

} // namespace heddle::simulator
