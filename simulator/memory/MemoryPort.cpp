// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Queues of requests for each wave, and the points at which policies and waits let their events happen.
#include "simulator/memory/MemoryPort.h"
#include "simulator/state/Apertures.h"
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <utility>

namespace heddle::simulator {
namespace {

bool isLocal(const MemoryRequest &request) {
  return request.queues & MemoryRequest::Lds;
}
bool writes(const MemoryRequest &request) {
  return request.kind == RequestKind::Store || request.kind == RequestKind::Atomic;
}
/// Whether others may find something else after it.
bool changesMemory(const MemoryRequest &request) {
  return writes(request) || request.kind == RequestKind::WriteBack || request.kind == RequestKind::ScalarWriteBack;
}
bool isGlobalVector(const MemoryRequest &request) {
  return request.queues & MemoryRequest::Vector && request.space != Space::Scratch;
}

bool shareLine(const PendingRequest &a, const PendingRequest &b) {
  if (!(a.lineBits & b.lineBits))
    return false;
  for (unsigned i = 0; i < a.lineCount; ++i)
    if (std::binary_search(b.lines, b.lines + b.lineCount, a.lines[i]))
      return true;
  return false;
}

/// Whether a flat request leads to LDS.
bool hasLdsLanes(const MemoryRequest &request) {
  for (uint64_t rest = request.lanes; rest; rest &= rest - 1)
    if (request.address[std::countr_zero(rest)] - sharedAperture < apertureSizeBytes)
      return true;
  return false;
}

/// Whether two requests of a wave may overlap in its scratch, which no other wave sees: whole requests stay in order
/// there. Two flat ones have lines.
bool shareScratch(const MemoryRequest &a, const MemoryRequest &b) {
  return (a.space == Space::Scratch && (b.space == Space::Scratch || b.space == Space::Flat)) ||
         (a.space == Space::Flat && b.space == Space::Scratch);
}

/// Whether the earlier of two requests of a compute unit has to be performed first.
bool keepsOrder(const PendingRequest &earlier, const PendingRequest &later) {
  if (earlier.wave == later.wave &&
      ((isLocal(earlier.request) && isLocal(later.request)) || shareScratch(earlier.request, later.request)))
    return true;
  if (later.request.kind == RequestKind::ScalarWriteBack)
    return earlier.request.isScalar() && earlier.request.kind == RequestKind::Store;
  if (later.request.kind == RequestKind::WriteBack)
    return earlier.request.kind == RequestKind::Store || earlier.request.kind == RequestKind::Atomic;
  return shareLine(earlier, later);
}

/// Calls `action()`; a fault of it is one of the request's wave and instruction.
template <typename Action>
void asInstruction(PendingRequest &pending, Action action) {
  try {
    action();
  } catch (Fault &fault) {
    pending.failed = pending.landed = true;
    fault.wave = pending.wave;
    fault.instruction = pending.request.instruction;
    throw;
  }
}

/// Lane 63 for lane 0, and so on.
void mirrorLanes(MemoryRequest &request) {
  auto mirror = [](uint64_t &bits) { bits = __builtin_bitreverse64(bits); };
  mirror(request.lanes);
  for (uint64_t &lanes : request.inRange)
    mirror(lanes);
  std::reverse(std::begin(request.address), std::end(request.address));
  for (unsigned word = 0; word < request.words && word < mostWordsPerLane; ++word)
    std::reverse(std::begin(request.data[word]), std::end(request.data[word]));
}

/// No manual says which of a store's lanes comes last where two write the same bytes: here it is the first.
void sampleMirrored(Wave &wave, MemoryRequest &request) {
  bool isRow = std::exchange(request.isRow, false);
  mirrorLanes(request);
  try {
    request.sample(wave, request);
  } catch (const Fault &) {
    mirrorLanes(request);
    request.sample(wave, request); // names the lowest of the lanes that are at fault
    throw;
  }
  mirrorLanes(request);
  request.isRow = isRow;
}

/// What is known of a request at its issue: only some have data by then.
void copyIssued(MemoryRequest &to, const MemoryRequest &from) {
  static_assert(std::is_trivially_copyable_v<MemoryRequest>);
  std::memcpy(static_cast<void *>(&to), &from, offsetof(MemoryRequest, data));
  bool hasData = from.kind != RequestKind::Load && from.kind != RequestKind::LoadToLds;
  if (hasData)
    std::memcpy(to.data, from.data, sizeof from.data);
}

void mix(uint64_t &hash, uint64_t value) {
  hash = (std::rotl(hash, 5) ^ value) * 0x9e3779b97f4a7c15u;
}

} // namespace

MemoryPort::MemoryPort(MemorySystem &system, const PortOptions &options)
    : global(system.home), system(system), options(options), random(options.seed) {
  // A run of its own kind for each seed: what is always early in one is always late in another.
  constexpr unsigned often[] = {0, 2, 8};
  storesAtIssue = often[random() % 3];
  loadsAtIssue = often[random() % 3];
  disturbance = often[random() % 3];
}

PendingRequest &MemoryPort::make() {
  if (spare.empty()) {
    made.push_back(std::make_unique<PendingRequest>());
    spare.push_back(made.back().get());
  }
  PendingRequest &pending = *spare.back();
  spare.pop_back();
  return pending;
}

void MemoryPort::listLines(PendingRequest &pending) const {
  const MemoryRequest &request = pending.request;
  pending.lineCount = 0;
  pending.lineBits = 0;
  if (!isGlobalVector(request) || !request.bytes)
    return;
  auto add = [&](uint64_t line) {
    if (pending.lineCount && pending.lines[pending.lineCount - 1] == line)
      return;
    pending.lines[pending.lineCount++] = line;
    pending.lineBits |= uint64_t(1) << (line * 0x9e3779b97f4a7c15u >> 58);
  };
  for (uint64_t rest = request.lanes; rest; rest &= rest - 1) {
    uint64_t address = request.address[std::countr_zero(rest)];
    add(address / lineBytes);
    add((address + request.bytes - 1) / lineBytes);
  }
  std::sort(pending.lines, pending.lines + pending.lineCount);
}

bool MemoryPort::performsAtIssue(const MemoryRequest &request) {
  // An invalidation holds for every later load, and earlier ones may bring anything that is newer.
  if (request.kind == RequestKind::Invalidate || request.kind == RequestKind::ScalarInvalidate)
    return true;
  switch (options.policy) {
  case Policy::Earliest:
    return true;
  case Policy::Latest:
    return false;
  case Policy::Reordered:
    return request.kind == RequestKind::Atomic || request.scope >= Scope::Agent;
  case Policy::Random:
    return random() % 8 < (writes(request) ? storesAtIssue : loadsAtIssue);
  }
  return true;
}

/// A load to LDS may overwrite what an LDS operation before it, also another wave's, has yet to read.
bool MemoryPort::landsAtIssue(const MemoryRequest &request) {
  if (request.kind != RequestKind::LoadToLds)
    return false;
  return options.policy == Policy::Reordered || (options.policy == Policy::Random && random() % 4 == 0);
}

/// With what has to land before it.
void MemoryPort::landUpTo(PendingRequest &pending) {
  for (PendingRequest *earlier : pending.wave->pending->vector) {
    if (earlier->request.land && !earlier->landed) {
      if (earlier->queuesLeft > 1) // a flat load also waits for the other counter
        return;
      land(*earlier);
    }
    if (earlier == &pending)
      return;
  }
}

void MemoryPort::issuePending(Wave &wave, MemoryRequest &issued) {
  PendingRequests &queues = *wave.pending;
  // A counter that is full holds the wave until there is room.
  if (issued.queues & MemoryRequest::Vector)
    shrink(queues.vector, vectorCapacity - 1);
  if (issued.queues & MemoryRequest::Lds)
    shrink(queues.local, localCapacity - 1);
  if (issued.queues & MemoryRequest::Scalar)
    shrink(queues.scalar, localCapacity - 1);
  PendingRequest &pending = make();
  copyIssued(pending.request, issued);
  pending.request.serial = wave.nextSerial++;
  pending.wave = &wave;
  pending.performed = pending.landed = pending.failed = pending.isOld = false;
  pending.queuesLeft = unsigned(std::popcount(issued.queues));
  if (options.policy != Policy::Earliest) // else nothing overtakes anything
    listLines(pending);
  if (options.watcher)
    options.watcher->issued(wave, pending.request);
  if (issued.queues & MemoryRequest::Vector)
    queues.vector.push_back(&pending);
  if (issued.queues & MemoryRequest::Lds)
    queues.local.push_back(&pending);
  if (issued.queues & MemoryRequest::Scalar)
    queues.scalar.push_back(&pending);
  if (performsAtIssue(issued))
    perform(pending);
  if (!pending.performed)
    keepIssued(pending);
  if (options.policy == Policy::Earliest)
    land(pending);
  else if (landsAtIssue(issued))
    landUpTo(pending);
  if (options.policy == Policy::Random) {
    wave.yields = random() % 4 == 0; // what others do between two accesses is what matters
    disturb(*wave.unit);
    // One of its own too: a wave whose access was at fault is to run no further.
    wave.yields |= hasFaults();
  }
}

void MemoryPort::keepIssued(PendingRequest &pending) {
  pending.wave->unit->issued.push_back(&pending);
  noteIssuing(*pending.wave->unit);
}

void MemoryPort::noteIssuing(ComputeUnit &unit) {
  if (!std::exchange(unit.hasIssued, true))
    unit.device->issuingUnits.push_back(&unit);
}

/// Of hundreds of compute units few have requests. In the order in which the device has them, whichever issued first.
std::vector<ComputeUnit *> MemoryPort::takeIssuing(Device &device) {
  std::vector<ComputeUnit *> units = std::exchange(device.issuingUnits, {});
  std::ranges::sort(units, {}, &ComputeUnit::index);
  for (ComputeUnit *unit : units)
    unit->hasIssued = false;
  return units;
}

/// What another wave's request does wrong is kept, so that the wave that made it happen goes on. False then.
template <typename Action>
bool MemoryPort::apart(Action action) {
  try {
    action();
    return true;
  } catch (const Fault &fault) {
    faults.push_back(fault);
    return false;
  }
}

void MemoryPort::performEarlier(PendingRequest &pending) {
  std::vector<PendingRequest *> &issued = pending.wave->unit->issued;
  for (size_t i = 0; i < issued.size() && issued[i] != &pending; ++i) {
    PendingRequest &earlier = *issued[i];
    if (earlier.performed || !keepsOrder(earlier, pending))
      continue;
    if (earlier.wave == pending.wave)
      perform(earlier);
    else
      apart([&] { perform(earlier); });
  }
}

/// Caches write back or forget.
void MemoryPort::maintain(Wave &wave, const MemoryRequest &request) {
  request.kind == RequestKind::WriteBack ? system.writeBack(*wave.unit, request.scope)
                                         : system.invalidate(*wave.unit, request.scope);
}

void MemoryPort::perform(PendingRequest &pending) {
  if (pending.performed)
    return;
  if (options.policy != Policy::Earliest)
    performEarlier(pending);
  pending.performed = true;
  MemoryRequest &request = pending.request;
  Wave &wave = *pending.wave;
  bool isUnseen = request.kind == RequestKind::Atomic && request.space == Space::Global && !request.land;
  if (request.kind == RequestKind::WriteBack || request.kind == RequestKind::Invalidate)
    maintain(wave, request);
  else if (options.speculation && isUnseen && !request.isScalar())
    options.speculation->changeLater(request);
  else if (options.policy == Policy::Latest && request.kind == RequestKind::Store && !request.isScalar() &&
           (request.space == Space::Global || request.space == Space::Lds))
    asInstruction(pending, [&] { sampleMirrored(wave, request); });
  else
    asInstruction(pending, [&] { request.sample(wave, request); });
  if (isGlobalVector(request) || (request.isScalar() && request.scope >= Scope::Agent))
    notePoll(wave, request);
  if (options.watcher)
    options.watcher->performed(wave, request);
}

void MemoryPort::land(PendingRequest &pending) {
  if (pending.landed)
    return;
  perform(pending);
  pending.landed = true;
  if (pending.request.land)
    asInstruction(pending, [&] { pending.request.land(*pending.wave, pending.request); });
  if (options.watcher)
    options.watcher->landed(*pending.wave, pending.request);
}

void MemoryPort::forget(ComputeUnit &unit, PendingRequest &pending) {
  auto place = std::find(unit.issued.begin(), unit.issued.end(), &pending);
  if (place != unit.issued.end())
    unit.issued.erase(place);
}

void MemoryPort::complete(PendingRequest &pending) {
  auto release = [&] {
    if (options.policy != Policy::Earliest)
      forget(*pending.wave->unit, pending);
    spare.push_back(&pending);
  };
  try {
    land(pending);
  } catch (const Fault &) {
    release();
    throw;
  }
  if (options.watcher && !pending.failed)
    options.watcher->completed(*pending.wave, pending.request);
  release();
}

void MemoryPort::abandon(Wave &wave) {
  std::erase_if(wave.unit->issued, [&](const PendingRequest *pending) { return pending->wave == &wave; });
  for (PendingRequests::Queue *queue : {&wave.pending->vector, &wave.pending->local, &wave.pending->scalar})
    while (!queue->empty()) {
      PendingRequest &pending = *queue->front();
      queue->pop_front();
      if (--pending.queuesLeft == 0)
        spare.push_back(&pending);
    }
}

void MemoryPort::shrink(PendingRequests::Queue &queue, size_t most) {
  while (queue.size() > most) {
    PendingRequest &pending = *queue.front();
    queue.pop_front();
    // What is in two queues is over when both have let it go.
    if (--pending.queuesLeft == 0)
      complete(pending);
    else if (&queue == &pending.wave->pending->local && hasLdsLanes(pending.request))
      perform(pending); // what a flat request does in LDS is over with lgkmcnt; compilers wait for no more
  }
}

/// Scalar loads return in any order, so that only a count of 0 says anything about them, and while one is pending a
/// count above 0 says of LDS operations only that not more than so many remain.
void MemoryPort::completeUntil(Wave &wave, unsigned vectorCount, unsigned localCount) {
  PendingRequests &pending = *wave.pending;
  if (vectorCount < vectorCapacity)
    shrink(pending.vector, vectorCount);
  if (localCount < localCapacity)
    shrink(pending.local, localCount);
  if (localCount == 0)
    shrink(pending.scalar, 0);
}

// ---- Chance, and what waits ----

void MemoryPort::landSome(PendingRequests::Queue &queue) {
  for (PendingRequest *pending : queue) {
    if (pending->landed)
      continue;
    if (!pending->performed || pending->queuesLeft > 1 || random() % 2)
      return;
    land(*pending);
  }
}

void MemoryPort::disturb(ComputeUnit &unit) {
  if (options.policy != Policy::Random || random() % 8 >= disturbance)
    return;
  system.disturb(unit, random);
  if (unit.issued.empty())
    return;
  PendingRequest &chosen = *unit.issued[random() % unit.issued.size()];
  apart([&] {
    if (random() % 2)
      perform(chosen);
    if (random() % 4 == 0) {
      landSome(chosen.wave->pending->vector);
      landSome(chosen.wave->pending->local);
      landSome(chosen.wave->pending->scalar);
    }
  });
  std::erase_if(unit.issued, [](const PendingRequest *pending) { return pending->performed; });
}

void MemoryPort::endWave(Wave &wave) {
  if (options.direct)
    return;
  shrink(wave.pending->local, 0);
  shrink(wave.pending->scalar, 0);
}

void MemoryPort::age() {
  for (auto &device : system.devices)
    for (ComputeUnit *unit : takeIssuing(*device)) {
      for (size_t i = 0; i < unit->issued.size(); ++i)
        if (unit->issued[i]->isOld)
          apart([&] { perform(*unit->issued[i]); });
        else
          unit->issued[i]->isOld = true;
      std::erase_if(unit->issued, [](const PendingRequest *pending) { return pending->performed; });
      if (!unit->issued.empty())
        noteIssuing(*unit);
    }
}

bool MemoryPort::performAll() {
  bool any = false;
  for (auto &device : system.devices) {
    if (device->runningKernels == 0)
      continue;
    for (ComputeUnit *unit : takeIssuing(*device)) {
      for (size_t i = 0; i < unit->issued.size(); ++i)
        if (PendingRequest &pending = *unit->issued[i]; !pending.performed) {
          bool performed = apart([&] { perform(pending); });
          any |= !performed || changesMemory(pending.request) || pending.wave->polls.repeated == 0;
        }
      unit->issued.clear();
    }
  }
  return any;
}

/// A load that brings what was brought before, from the same addresses, is what a wave does that waits for others.
void MemoryPort::notePoll(Wave &wave, const MemoryRequest &request) {
  Polls &polls = wave.polls;
  if (request.kind != RequestKind::Load && request.kind != RequestKind::Atomic) {
    if (request.kind == RequestKind::Store || request.kind == RequestKind::LoadToLds)
      polls.repeated = 0;
    return;
  }
  unsigned firstLane = request.lanes && !request.isScalar() ? unsigned(std::countr_zero(request.lanes)) : 0;
  uint64_t first = request.lanes ? request.address[firstLane] : 0;
  auto begin = std::begin(polls.sites), end = std::end(polls.sites);
  auto isThere = [&](const Polls::Site &each) { return each.first == first; };
  if (std::none_of(begin, end, isThere)) { // most loads never come back
    polls.repeated = 0;
    polls.sites[polls.next++ % std::size(polls.sites)] = {first};
    return;
  }
  uint64_t addresses = request.lanes | 1, values = 0;
  if (request.isScalar())
    mix(addresses, first), mix(values, request.scalarData[0]);
  for (uint64_t rest = request.isScalar() ? 0 : request.lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    mix(addresses, request.address[lane]);
    for (unsigned word = 0; word < request.words; ++word)
      mix(values, request.data[word][lane]);
  }
  Polls::Site *site = std::find_if(begin, end, [&](const Polls::Site &each) {
    return isThere(each) && (!each.addresses || each.addresses == addresses);
  });
  if (site == end) { // another load of the loop, whose first lane only is the same
    polls.repeated = 0;
    polls.sites[polls.next++ % std::size(polls.sites)] = {first, addresses, values};
    return;
  }
  bool same = site->addresses == addresses && site->values == values;
  *site = {first, addresses, values};
  polls.repeated = same ? polls.repeated + 1 : 0;
  if (!same || !request.lanes)
    return;
  polls.address = first;
  polls.value = request.data[0][firstLane];
  polls.mayPrefetch = request.kind == RequestKind::Load && request.scope == Scope::Wave;
  wave.yields = polls.repeated > 1;
}

} // namespace heddle::simulator
