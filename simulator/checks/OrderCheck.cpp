// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/checks/OrderCheck.h"
#include "simulator/checks/Checks.h"
#include "simulator/state/Apertures.h"
#include "simulator/state/Workgroup.h"
#include <algorithm>
#include <bit>

namespace heddle::simulator {
namespace {

/// Calls `action(lane, address, bytes)` for each run of bytes that the request accesses in global memory.
template <typename Action>
void forAccesses(const MemoryRequest &request, Action action) {
  if (request.isScalar()) {
    for (uint64_t rest = request.lanes; rest; rest &= rest - 1)
      action(0u, request.address[0] + 4 * unsigned(std::countr_zero(rest)), 4u);
    return;
  }
  unsigned words = (request.bytes + 3u) / 4;
  uint64_t whole = request.inRange[0], any = request.inRange[0];
  for (unsigned word = 1; word < words; ++word) {
    whole &= request.inRange[word];
    any |= request.inRange[word];
  }
  for (uint64_t rest = any; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    uint64_t address = request.address[lane];
    if (request.space == Space::Flat && isOnChip(address))
      continue;
    if (whole >> lane & 1)
      action(lane, address, unsigned(request.bytes));
    else
      for (unsigned word = 0; word < words; ++word)
        if (request.inRange[word] >> lane & 1)
          action(lane, address + 4 * word, 4u);
  }
}

/// The address of the first access, or 0.
uint64_t firstAddress(const MemoryRequest &request) {
  uint64_t first = 0;
  forAccesses(request, [&](unsigned, uint64_t address, unsigned) { first = first ? first : address; });
  return first;
}

std::vector<Knowledge::Entry> entriesOf(uint32_t wave, const OrderCheck::Epochs &epochs) {
  std::vector<Knowledge::Entry> entries;
  for (unsigned stream = 0; stream < streamCount; ++stream)
    if (epochs[stream])
      entries.push_back({Knowledge::idOf(wave, Stream(stream)), epochs[stream]});
  return entries;
}

/// What a barrier passes on of a wave's own accesses: vector memory in the order of issue, scalar loads when complete.
OrderCheck::Epochs toWorkgroup(const OrderCheck::WaveState &state) {
  OrderCheck::Epochs epochs = state.issued;
  epochs[unsigned(Stream::ScalarRead)] = state.complete[unsigned(Stream::ScalarRead)];
  return epochs;
}

} // namespace

// ---- What a wave publishes and sees ----

PageType OrderCheck::pageAt(const Wave &wave, uint64_t address) const {
  const Allocation *allocation = system.home.owner(address);
  return allocation ? system.pageTypeOf(*allocation, *system.devices[wave.workgroup->device]) : PageType::Uncached;
}

Stream OrderCheck::streamOf(const MemoryRequest &request, PageType page) {
  if (!request.writesMemory())
    return request.isScalar() ? Stream::ScalarRead : Stream::Everywhere;
  bool isCached = page == PageType::Local || page == PageType::Remote;
  if (!isCached || request.scope == Scope::System)
    return Stream::Everywhere;
  return request.scope == Scope::Agent ? Stream::WrittenAgent : Stream::Written;
}

OrderCheck::ReleaseRef OrderCheck::makeRelease(const Wave &wave, const WaveState &state, Scope scope) const {
  auto release = std::make_shared<Release>();
  release->wave = wave.number;
  release->group = waves[wave.number].group;
  release->device = wave.workgroup->device;
  release->workgroup = state.known;
  release->workgroup.join(entriesOf(wave.number, toWorkgroup(state)));
  if (scope >= Scope::Agent) {
    release->agent = state.agent;
    release->agent.join(entriesOf(wave.number, state.toAgent));
  }
  if (scope == Scope::System) {
    release->system = state.system;
    release->system.join(entriesOf(wave.number, state.toSystem));
  }
  release->all = state.all;
  release->all.join(entriesOf(wave.number, state.issued));
  return release;
}

/// A read of `scope` is complete that has found releases.
void OrderCheck::join(WaveState &state, const Wave &wave, const Outstanding &request, Scope scope) {
  for (const ReleaseRef &release : request.seen) {
    if (release->wave == wave.number)
      continue;
    if (release->group == waves[wave.number].group)
      state.known.join(release->workgroup);
    if (release->device == wave.workgroup->device && scope >= Scope::Agent) {
      state.seenAgent.join(release->agent);
      state.agent.join(release->agent);
    }
    if (scope == Scope::System) {
      state.seenSystem.join(release->system);
      state.system.join(release->system);
      state.agent.join(release->system);
    }
    state.all.join(release->all);
  }
}

void OrderCheck::issued(Wave &wave, MemoryRequest &request) {
  WaveState &state = wave.checks->order;
  if (request.kind == RequestKind::Invalidate) {
    if (request.scope >= Scope::Agent)
      state.known.join(state.seenAgent);
    if (request.scope == Scope::System)
      state.known.join(state.seenSystem);
    return;
  }
  if (request.kind == RequestKind::WriteBack) {
    Knowledge &begun = request.scope == Scope::System ? backToSystem : backToAgent;
    begun.join(state.known);
    begun.join(entriesOf(wave.number, state.issued));
    Outstanding &writeBack = state.outstanding.emplace_back();
    writeBack.serial = request.serial;
    writeBack.known = state.known;
    writeBack.issued = state.issued;
    return;
  }
  if (request.space != Space::Global && request.space != Space::Flat)
    return;
  uint64_t address = firstAddress(request);
  if (!address)
    return;
  PageType page = pageAt(wave, address);
  Outstanding &entry = state.outstanding.emplace_back();
  entry.serial = request.serial;
  entry.stream = streamOf(request, page);
  entry.epoch = ++state.issued[unsigned(entry.stream)];
  Scope scope = request.scope;
  if (scope >= Scope::Agent && (page == PageType::Uncached || page == PageType::Coherent))
    scope = Scope::System; // there is no nearer place
  if (request.writesMemory() && scope >= Scope::Workgroup)
    entry.release = makeRelease(wave, state, scope);
  Stamp stamp;
  stamp.wave = wave.number;
  stamp.epoch = entry.epoch;
  stamp.instruction = indexOf(*request.instruction);
  stamp.stream = uint8_t(entry.stream) & 3;
  stamp.scope = uint8_t(scope) & 3;
  stamp.writes = request.writesMemory();
  stamp.isAtomic = scope >= Scope::Workgroup;
  check(wave, request, stamp);
}

static auto findOutstanding(OrderCheck::WaveState &state, uint32_t serial) {
  return std::find_if(state.outstanding.begin(), state.outstanding.end(),
                      [&](const OrderCheck::Outstanding &entry) { return entry.serial == serial; });
}

void OrderCheck::performed(Wave &wave, MemoryRequest &request) {
  WaveState &state = wave.checks->order;
  auto entry = findOutstanding(state, request.serial);
  if (entry == state.outstanding.end() || request.scope < Scope::Workgroup)
    return;
  std::map<const Release *, ReleaseRef> merged; // of read-modify-writes, by what was there
  forAccesses(request, [&](unsigned lane, uint64_t address, unsigned bytes) {
    for (uint64_t cell = address / 4; cell <= (address + bytes - 1) / 4; ++cell) {
      auto place = locations.find(cell);
      unsigned word = unsigned(cell - address / 4);
      uint32_t value = word < request.words ? request.data[word][lane] : 0;
      if (request.readsMemory() && place != locations.end()) {
        Location &location = place->second;
        bool isOlder =
            request.kind != RequestKind::Atomic && bytes >= 4 && location.valueKnown && location.value != value;
        if (!isOlder && (entry->seen.empty() || entry->seen.back() != location.release))
          entry->seen.push_back(location.release);
      }
      if (!entry->release)
        continue;
      Location &location = place != locations.end() ? place->second : locations[cell];
      ReleaseRef release = entry->release;
      if (request.kind == RequestKind::Atomic && location.release) {
        ReleaseRef &known = merged[location.release.get()];
        if (!known) {
          auto both = std::make_shared<Release>(*release);
          const Release &before = *location.release;
          if (before.group == both->group)
            both->workgroup.join(before.workgroup);
          if (before.device == both->device)
            both->agent.join(before.agent);
          both->system.join(before.system);
          both->all.join(before.all);
          known = both;
        }
        release = known;
      }
      location.release = release;
      location.value = value;
      location.valueKnown = request.kind == RequestKind::Store && bytes >= 4;
    }
  });
}

void OrderCheck::completed(Wave &wave, MemoryRequest &request) {
  WaveState &state = wave.checks->order;
  auto entry = findOutstanding(state, request.serial);
  if (entry == state.outstanding.end())
    return;
  auto raise = [](uint32_t &epoch, uint32_t to) { epoch = std::max(epoch, to); };
  if (request.kind == RequestKind::WriteBack) {
    for (unsigned stream = 0; stream < streamCount && request.scope >= Scope::Agent; ++stream) {
      if (Stream(stream) == Stream::ScalarRead)
        continue;
      raise(state.toAgent[stream], entry->issued[stream]);
      if (request.scope == Scope::System)
        raise(state.toSystem[stream], entry->issued[stream]);
    }
    if (request.scope >= Scope::Agent)
      state.agent.join(entry->known);
    if (request.scope == Scope::System)
      state.system.join(entry->known);
  } else {
    unsigned stream = unsigned(entry->stream);
    raise(state.complete[stream], entry->epoch);
    if (entry->stream != Stream::Written)
      raise(state.toAgent[stream], entry->epoch);
    if (entry->stream == Stream::Everywhere || entry->stream == Stream::ScalarRead)
      raise(state.toSystem[stream], entry->epoch);
    join(state, wave, *entry, request.scope);
  }
  state.outstanding.erase(entry);
}

void OrderCheck::barrierOpens(Workgroup &group, bool) {
  Knowledge known, agent, everywhere, seenAgent, seenSystem, all;
  for (auto &wave : group.waves) {
    if (wave->state == Wave::State::Ended)
      continue;
    const WaveState &state = wave->checks->order;
    known.join(state.known), known.join(entriesOf(wave->number, toWorkgroup(state)));
    agent.join(state.agent), agent.join(entriesOf(wave->number, state.toAgent));
    everywhere.join(state.system), everywhere.join(entriesOf(wave->number, state.toSystem));
    seenAgent.join(state.seenAgent), seenSystem.join(state.seenSystem);
    all.join(state.all), all.join(entriesOf(wave->number, state.issued));
  }
  for (auto &wave : group.waves) {
    if (wave->state == Wave::State::Ended)
      continue;
    WaveState &state = wave->checks->order;
    state.known = known, state.agent = agent, state.system = everywhere;
    state.seenAgent = seenAgent, state.seenSystem = seenSystem, state.all = all;
  }
}

void OrderCheck::groupBegins(Workgroup &group) {
  for (auto &wave : group.waves) {
    if (waves.size() <= wave->number)
      waves.resize(wave->number + 1);
    WaveInfo &info = waves[wave->number];
    info.site = Site::of(*wave, Instruction());
    info.site.instruction = nullptr;
    info.group = nextGroup;
    info.launch = group.launch;
  }
  ++nextGroup;
}

void OrderCheck::kernelBegins(Device &device) {
  bool isAlone = std::all_of(launches.begin(), launches.end(), [](const LaunchTimes &times) { return times.ended; });
  if (isAlone) {
    pages.clear();
    locations.clear();
    backToAgent = backToSystem = {};
    recentPage = nullptr;
    recentNumber = ~uint64_t(0);
  }
  if (launches.size() <= device.launch)
    launches.resize(device.launch + 1);
  launches[device.launch].began = ++time;
}

void OrderCheck::kernelEnds(Device &device) {
  launches[device.launch].ended = ++time;
}

// ---- Races ----

struct OrderCheck::Order {
  const OrderCheck &check;
  Wave &wave;
  const WaveState &state;
  bool seesAll; ///< no cache that may be old is read
  struct Answer {
    uint32_t id = ~0u, epoch = 0;
  };
  Answer answers[16] = {};

  Order(const OrderCheck &check, Wave &wave, bool seesAll)
      : check(check), wave(wave), state(wave.checks->order), seesAll(seesAll) {}

  bool isBefore(const Stamp &stamp) {
    uint32_t id = Knowledge::idOf(stamp.wave, Stream(stamp.stream));
    Answer &answer = answers[id % 16];
    if (answer.id != id)
      answer = {id, find(stamp.wave, id)};
    return stamp.epoch <= answer.epoch;
  }

private:
  uint32_t find(uint32_t other, uint32_t id) const {
    const LaunchTimes &theirs = check.launches[check.waves[other].launch],
                      &ours = check.launches[check.waves[wave.number].launch];
    if (theirs.ended && theirs.ended < ours.began)
      return ~0u;
    uint32_t epoch = state.known.epochOf(id);
    if (seesAll)
      epoch = std::max({epoch, state.seenAgent.epochOf(id), state.seenSystem.epochOf(id)});
    return epoch;
  }
};

OrderCheck::Cell &OrderCheck::cellAt(uint64_t address) {
  uint64_t number = address / 4 / cellsPerPage;
  if (number != recentNumber) {
    std::unique_ptr<Page> &page = pages[number];
    if (!page)
      page = std::make_unique<Page>();
    recentNumber = number;
    recentPage = page.get();
  }
  return recentPage->cells[address / 4 % cellsPerPage];
}

uint32_t OrderCheck::indexOf(const Instruction &instruction) {
  auto [place, isNew] = instructionIndex.try_emplace(&instruction, uint32_t(instructions.size()));
  if (isNew)
    instructions.push_back(&instruction);
  return place->second;
}

void OrderCheck::check(Wave &wave, const MemoryRequest &request, const Stamp &kind) {
  // A store, and a load that passes the caches by, is done behind whatever the wave has seen.
  Order order(*this, wave, kind.writes || request.scope >= Scope::Agent);
  bool compares = request.kind == RequestKind::Atomic && !doubts.empty() &&
                  request.instruction->mnemonic.find("cmpswap") != std::string::npos;
  forAccesses(request, [&](unsigned lane, uint64_t address, unsigned bytes) {
    if (compares)
      settleDoubts(wave.number, address);
    Stamp stamp = kind;
    stamp.lane = uint8_t(lane);
    checkCells(order, address, bytes, stamp);
  });
}

void OrderCheck::checkCells(Order &order, uint64_t address, unsigned bytes, const Stamp &kind) {
  for (uint64_t end = address + bytes; address < end;) {
    unsigned offset = address % 4, part = unsigned(std::min<uint64_t>(4 - offset, end - address));
    Stamp stamp = kind;
    stamp.bytes = uint8_t(((1u << part) - 1) << offset);
    checkCell(order, cellAt(address), address, stamp);
    address += part;
  }
}

void OrderCheck::checkCell(Order &order, Cell &cell, uint64_t address, const Stamp &stamp) {
  Stamp *place = nullptr, *empty = nullptr, *read = nullptr;
  for (Stamp &other : cell.stamps) {
    if (!other.epoch) {
      empty = empty ? empty : &other;
      continue;
    }
    bool isOwn = other.wave == stamp.wave, overlaps = other.bytes & stamp.bytes,
         conflicts = other.writes | stamp.writes;
    bool isBefore = isOwn || order.isBefore(other);
    // The scalar cache hears of no store of this launch, not even of the wave's own.
    bool isScalar = stamp.stream == uint8_t(Stream::ScalarRead) && other.writes;
    if (overlaps && conflicts && (!isBefore || (isScalar && waves[other.wave].launch == waves[stamp.wave].launch)))
      reportRace(order.state, other, stamp, address);
    bool isCovered = isBefore && !(other.bytes & ~stamp.bytes) && (stamp.writes || !other.writes);
    if (isCovered) { // who is ordered behind the new one is ordered behind the old one
      if (place)
        other = {};
      else
        place = &other;
    } else if (!other.writes)
      read = &other;
  }
  if (!place)
    place = empty ? empty : read ? read : &cell.stamps[stamp.epoch % 4];
  *place = stamp;
}

} // namespace heddle::simulator
