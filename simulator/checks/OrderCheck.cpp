// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What each instruction adds to the knowledge of a wave, and the comparison of accesses. Reports are in
// OrderReports.cpp.
#include "simulator/checks/OrderCheck.h"
#include "simulator/checks/Checks.h"
#include "simulator/state/Apertures.h"
#include "simulator/state/Workgroup.h"
#include <algorithm>
#include <bit>
#include <utility>

namespace heddle::simulator {
namespace {

/// Calls `action(lane, address, bytes)` for each run of bytes that the request accesses in global memory.
template <typename Action>
void forAccesses(const MemoryRequest &request, Action action) {
  if (request.isScalar()) {
    forGlobalWords(request, [&](uint64_t address, unsigned bytes) { action(0u, address, bytes); });
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

/// The lanes that access global memory.
uint64_t globalLanes(const MemoryRequest &request) {
  uint64_t lanes = 0;
  for (unsigned word = 0; word < (request.bytes + 3u) / 4; ++word)
    lanes |= request.inRange[word];
  for (uint64_t rest = request.space == Space::Flat ? lanes : 0; rest; rest &= rest - 1)
    if (isOnChip(request.address[std::countr_zero(rest)]))
      lanes &= ~(rest & -rest);
  return lanes;
}

/// Whether each lane accesses all of its words or none.
bool hasWholeLanes(const MemoryRequest &request) {
  bool whole = true;
  for (unsigned word = 1; word < (request.bytes + 3u) / 4; ++word)
    whole &= request.inRange[word] == request.inRange[0];
  return whole;
}

/// The address of the first access, or 0.
uint64_t firstAddress(const MemoryRequest &request) {
  if (request.isScalar())
    return request.lanes ? request.address[0] + 4 * unsigned(std::countr_zero(request.lanes)) : 0;
  uint64_t lanes = globalLanes(request);
  if (!lanes)
    return 0;
  unsigned lane = unsigned(std::countr_zero(lanes)), word = 0;
  while (!(request.inRange[word] >> lane & 1))
    ++word;
  return request.address[lane] + 4 * word;
}

/// Lanes that follow each other and access bytes that follow each other, whole cells of the shadow; or lanes at the
/// same place, at least one.
struct LaneRun {
  uint64_t lanes = 0;
  bool isSame = false;
};

LaneRun firstRun(const MemoryRequest &request, uint64_t lanes) {
  if (lanes == allLanes && request.isRow && request.address[0] % 4 == 0)
    return {allLanes, false};
  unsigned first = unsigned(std::countr_zero(lanes)), bytes = request.bytes;
  uint64_t address = request.address[first];
  unsigned adjacent = unsigned(std::countr_one(lanes >> first)), count = 1;
  while (count < adjacent && request.address[first + count] == address + count * bytes)
    ++count;
  if (bytes < 4)
    count -= count % (4 / bytes);
  if (count && address % 4 == 0 && (count > 1 || bytes >= 4) &&
      (count > 1 || adjacent < 2 || request.address[first + 1] != address))
    return {(count < waveLanes ? (uint64_t(1) << count) - 1 : allLanes) << first, false};
  LaneRun run{0, true};
  for (; lanes && request.address[std::countr_zero(lanes)] == address; lanes &= lanes - 1)
    run.lanes |= lanes & -lanes;
  return run;
}

struct OwnEntries {
  Knowledge::Entry entries[streamCount];
  unsigned count = 0;
  operator std::span<const Knowledge::Entry>() const { return {entries, count}; }
};
OwnEntries entriesOf(uint32_t wave, const OrderCheck::Epochs &epochs) {
  OwnEntries own;
  for (unsigned stream = 0; stream < streamCount; ++stream)
    if (epochs[stream])
      own.entries[own.count++] = {Knowledge::idOf(wave, Stream(stream)), epochs[stream]};
  return own;
}

void addEntries(std::vector<Knowledge::Entry> &entries, uint32_t wave, const OrderCheck::Epochs &epochs) {
  OwnEntries own = entriesOf(wave, epochs);
  entries.insert(entries.end(), own.entries, own.entries + own.count);
}

/// What a barrier passes on of a wave's own accesses: vector memory in the order of issue, scalar loads when complete.
OrderCheck::Epochs toWorkgroup(const OrderCheck::WaveState &state) {
  OrderCheck::Epochs epochs = state.issued;
  epochs[unsigned(Stream::ScalarRead)] = state.complete[unsigned(Stream::ScalarRead)];
  return epochs;
}

} // namespace

// ---- What a wave publishes and sees ----

Stream OrderCheck::streamOf(const MemoryRequest &request, PageType page) {
  if (!request.writesMemory())
    return request.isScalar() && request.scope < Scope::Agent ? Stream::ScalarRead : Stream::Everywhere;
  bool isCached = page == PageType::Local || page == PageType::Remote;
  if (!isCached || request.scope == Scope::System)
    return Stream::Everywhere;
  return request.scope == Scope::Agent ? Stream::WrittenAgent : Stream::Written;
}

/// `own` and the access itself, where everything that its wave issued to that stream before is known: who finds what it
/// left comes after it.
static OrderCheck::Epochs withItself(OrderCheck::Epochs own, const OrderCheck::Outstanding &access) {
  uint32_t &epoch = own[unsigned(access.stream)];
  if (epoch + 1 == access.epoch)
    epoch = access.epoch;
  return own;
}

OrderCheck::ReleaseRef OrderCheck::makeRelease(const Wave &wave, const WaveState &state, const Outstanding &access,
                                               Scope scope) const {
  auto release = std::make_shared<Release>();
  release->wave = wave.number;
  release->group = waves[wave.number].group;
  release->device = wave.workgroup->device;
  release->workgroup = {state.known, toWorkgroup(state)};
  if (scope >= Scope::Agent)
    release->agent = {state.agent, withItself(state.toAgent, access)};
  if (scope == Scope::System)
    release->system = {state.system, withItself(state.toSystem, access)};
  release->all = {state.all, state.issued};
  return release;
}

void OrderCheck::Release::addTo(Knowledge &knowledge, const Part &part) const {
  knowledge.join(part.others);
  knowledge.join(entriesOf(wave, part.own));
}

/// A read of `scope` is complete that has found releases.
void OrderCheck::join(WaveState &state, const Wave &wave, const Outstanding &request, Scope scope) {
  if (!request.carried)
    return;
  for (const ReleaseRef &release : request.carried->seen) {
    if (release->wave == wave.number)
      continue;
    if (release->group == waves[wave.number].group)
      release->addTo(state.known, release->workgroup);
    if (release->device == wave.workgroup->device && scope >= Scope::Agent) {
      release->addTo(state.seenAgent, release->agent);
      release->addTo(state.agent, release->agent);
    }
    if (scope == Scope::System) {
      release->addTo(state.seenSystem, release->system);
      release->addTo(state.system, release->system);
      release->addTo(state.agent, release->system);
    }
    release->addTo(state.all, release->all);
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
    writeBack.carry().known = state.known;
    writeBack.carry().issued = state.issued;
    return;
  }
  if (request.space != Space::Global && request.space != Space::Flat)
    return;
  uint64_t address = firstAddress(request);
  if (!address)
    return;
  if (request.isScalar() && request.kind == RequestKind::Store && request.scope < Scope::Agent) {
    state.scalarStores.push_back({request.serial, request.address[0], request.lanes, request.instruction});
    return;
  }
  const Allocation *allocation = system.home.around(address, false);
  if (request.isScalar() && allocation && !allocation->writable) // no kernel can write what all of them read there
    return;
  PageType page =
      allocation ? system.pageTypeOf(*allocation, *system.devices[wave.workgroup->device]) : PageType::Uncached;
  Outstanding &entry = state.outstanding.emplace_back();
  entry.serial = request.serial;
  entry.stream = streamOf(request, page);
  entry.epoch = ++state.issued[unsigned(entry.stream)];
  state.mayCompleteEarly |= request.isScalar() && entry.stream != Stream::ScalarRead;
  Scope scope = request.scope;
  if (scope >= Scope::Agent && (page == PageType::Uncached || page == PageType::Coherent))
    scope = Scope::System; // there is no nearer place
  if (request.writesMemory() && scope >= Scope::Workgroup)
    entry.carry().release = makeRelease(wave, state, entry, scope);
  Stamp stamp;
  stamp.wave = wave.number;
  stamp.epoch = entry.epoch;
  stamp.instruction = indexOf(*request.instruction);
  stamp.stream = uint8_t(entry.stream) & 3;
  stamp.scope = uint8_t(scope) & 3;
  stamp.writes = request.writesMemory();
  stamp.isAtomic = scope >= Scope::Workgroup;
  stamp.inScalarCache = request.isScalar() && request.kind == RequestKind::Store;
  state.recent[state.accesses++ % recentCount] = {stamp.epoch, stamp.stream, wave.checks->clock.now};
  if (request.kind == RequestKind::Store)
    stored.add({wave.number, stamp.stream, stamp.epoch}, request);
  check(wave, request, stamp);
}

static auto findOutstanding(OrderCheck::WaveState &state, uint32_t serial) {
  return std::find_if(state.outstanding.begin(), state.outstanding.end(),
                      [&](const OrderCheck::Outstanding &entry) { return entry.serial == serial; });
}

/// Finds the locations of one request.
class OrderCheck::LocationFinder {
public:
  explicit LocationFinder(OrderCheck &check) : check(check) {}
  /// The one of address / 4; null, if not `makes`, when no location near it holds anything.
  Location *find(uint64_t cell, bool makes) {
    if (!page || cell / pageCells != pageNumber) {
      pageNumber = cell / pageCells;
      auto found = makes ? check.locations.try_emplace(pageNumber).first : check.locations.find(pageNumber);
      page = found == check.locations.end() ? nullptr : &found->second;
    }
    return page ? &(*page)[cell % pageCells] : nullptr;
  }

private:
  static constexpr uint64_t pageCells = std::tuple_size_v<LocationPage>;
  OrderCheck &check;
  uint64_t pageNumber = 0;
  LocationPage *page = nullptr;
};

/// What a read-modify-write leaves that has found `before`.
OrderCheck::ReleaseRef OrderCheck::mergeReleases(const Release &own, const Release &before) {
  auto both = std::make_shared<Release>(own);
  if (before.group == both->group)
    before.addTo(both->workgroup.others, before.workgroup);
  if (before.device == both->device)
    before.addTo(both->agent.others, before.agent);
  before.addTo(both->system.others, before.system);
  before.addTo(both->all.others, before.all);
  return both;
}

void OrderCheck::performed(Wave &wave, MemoryRequest &request) {
  if (request.scope < Scope::Workgroup)
    return;
  WaveState &state = wave.checks->order;
  auto entry = findOutstanding(state, request.serial);
  if (entry == state.outstanding.end())
    return;
  std::vector<std::pair<ReleaseRef, ReleaseRef>> merged; // of read-modify-writes: what was there, and what comes of it
  LocationFinder finder(*this);
  std::vector<ReleaseRef> &seen = entry->carry().seen;
  const ReleaseRef &release = entry->carry().release;
  forAccesses(request, [&](unsigned lane, uint64_t address, unsigned bytes) {
    for (uint64_t cell = address / 4; cell <= (address + bytes - 1) / 4; ++cell) {
      Location *location = finder.find(cell, release != nullptr);
      unsigned word = unsigned(cell - address / 4);
      uint32_t value = request.isScalar()     ? request.scalarData[(cell - request.address[0] / 4) % mostScalarWords]
                       : word < request.words ? request.data[word][lane]
                                              : 0;
      if (request.readsMemory() && location && location->release) {
        bool isOlder =
            request.kind != RequestKind::Atomic && bytes >= 4 && location->valueKnown && location->value != value;
        if (!isOlder && (seen.empty() || seen.back() != location->release))
          seen.push_back(location->release);
      }
      if (!release)
        continue;
      location->value = value;
      location->valueKnown = request.kind == RequestKind::Store && bytes >= 4;
      if (request.kind != RequestKind::Atomic || !location->release) {
        location->release = release;
        continue;
      }
      if (merged.empty() || merged.back().first != location->release) {
        auto known = std::find_if(merged.begin(), merged.end(),
                                  [&](const auto &each) { return each.first == location->release; });
        if (known == merged.end())
          merged.emplace_back(location->release, mergeReleases(*release, *location->release));
        else
          std::swap(*known, merged.back());
      }
      location->release = merged.back().second;
    }
  });
}

/// Up to which epoch of its stream a wave's accesses are complete when this one is.
uint32_t OrderCheck::completedEpoch(const WaveState &state, const Outstanding &entry) {
  if (!state.mayCompleteEarly)
    return entry.epoch;
  uint32_t epoch = state.issued[unsigned(entry.stream)];
  for (const Outstanding &other : state.outstanding)
    if (other.epoch && other.stream == entry.stream && other.serial != entry.serial)
      epoch = std::min(epoch, other.epoch - 1);
  return epoch;
}

/// s_dcache_wb is complete: what the wave had stored before it is in L2, as if a vector store had been issued.
void OrderCheck::writeBackScalars(Wave &wave, uint32_t serial) {
  WaveState &state = wave.checks->order;
  auto end = std::find_if(state.scalarStores.begin(), state.scalarStores.end(),
                          [&](const ScalarStore &store) { return store.serial > serial; });
  for (auto store = state.scalarStores.begin(); store != end; ++store) {
    MemoryRequest request;
    request.kind = RequestKind::Store;
    request.space = Space::Global;
    request.bytes = 4;
    request.queues = MemoryRequest::Scalar;
    request.lanes = store->words;
    request.address[0] = store->address;
    request.instruction = store->instruction;
    const Allocation *allocation = system.home.around(firstAddress(request), false);
    PageType page =
        allocation ? system.pageTypeOf(*allocation, *system.devices[wave.workgroup->device]) : PageType::Uncached;
    Outstanding entry;
    entry.serial = store->serial;
    entry.stream = streamOf(request, page);
    entry.epoch = ++state.issued[unsigned(entry.stream)];
    state.mayCompleteEarly = true;
    Stamp stamp;
    stamp.wave = wave.number;
    stamp.epoch = entry.epoch;
    stamp.instruction = indexOf(*store->instruction);
    stamp.stream = uint8_t(entry.stream) & 3;
    stamp.writes = stamp.inScalarCache = true;
    check(wave, request, stamp);
    uint32_t &complete = state.complete[unsigned(entry.stream)];
    complete = std::max(complete, completedEpoch(state, entry));
    if (entry.stream == Stream::Everywhere)
      for (Epochs *published : {&state.toAgent, &state.toSystem})
        (*published)[unsigned(entry.stream)] = std::max((*published)[unsigned(entry.stream)], complete);
  }
  state.scalarStores.erase(state.scalarStores.begin(), end);
}

void OrderCheck::completed(Wave &wave, MemoryRequest &request) {
  WaveState &state = wave.checks->order;
  if (request.kind == RequestKind::ScalarWriteBack)
    return writeBackScalars(wave, request.serial);
  auto entry = findOutstanding(state, request.serial);
  if (entry == state.outstanding.end())
    return;
  auto raise = [](uint32_t &epoch, uint32_t to) { epoch = std::max(epoch, to); };
  if (request.kind == RequestKind::WriteBack) {
    for (unsigned stream = 0; stream < streamCount && request.scope >= Scope::Agent; ++stream) {
      if (Stream(stream) == Stream::ScalarRead)
        continue;
      raise(state.toAgent[stream], entry->carry().issued[stream]);
      if (request.scope == Scope::System)
        raise(state.toSystem[stream], entry->carry().issued[stream]);
    }
    if (request.scope >= Scope::Agent)
      state.agent.join(entry->carry().known);
    if (request.scope == Scope::System)
      state.system.join(entry->carry().known);
  } else {
    unsigned stream = unsigned(entry->stream);
    uint32_t epoch = completedEpoch(state, *entry);
    raise(state.complete[stream], epoch);
    if (entry->stream != Stream::Written)
      raise(state.toAgent[stream], epoch);
    if (entry->stream == Stream::Everywhere || entry->stream == Stream::ScalarRead)
      raise(state.toSystem[stream], epoch);
    join(state, wave, *entry, request.scope);
  }
  state.outstanding.erase(entry);
}

void OrderCheck::barrierOpens(Workgroup &group, bool) {
  Knowledge known, agent, everywhere, seenAgent, seenSystem, all;
  std::vector<Knowledge::Entry> ownKnown, ownAgent, ownSystem, ownAll; // waves have their numbers in order
  for (auto &wave : group.waves) {
    const WaveState &state = wave->checks->order; // an ended wave has waited for everything
    known.join(state.known), addEntries(ownKnown, wave->number, toWorkgroup(state));
    agent.join(state.agent), addEntries(ownAgent, wave->number, state.toAgent);
    everywhere.join(state.system), addEntries(ownSystem, wave->number, state.toSystem);
    seenAgent.join(state.seenAgent), seenSystem.join(state.seenSystem);
    all.join(state.all), addEntries(ownAll, wave->number, state.issued);
  }
  known.join(ownKnown);
  agent.join(ownAgent);
  everywhere.join(ownSystem);
  all.join(ownAll);
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
    WaveState &state = wave->checks->order;
    state.known = state.agent = state.system = state.all = launches[group.launch].knownAtBegin;
  }
  ++nextGroup;
}

void OrderCheck::kernelBegins(Device &device) {
  bool isAlone = std::all_of(launches.begin(), launches.end(), [](const LaunchTimes &times) { return times.ended; });
  if (isAlone) {
    shadow.clear();
    stored.clear();
    locations.clear();
    backToAgent = backToSystem = {};
    passedOn = {};
  }
  if (launches.size() <= device.launch)
    launches.resize(device.launch + 1);
  LaunchTimes &times = launches[device.launch];
  times.began = ++time;
  times.knownAtBegin = passedOn;
  Knowledge::Entry ended{Knowledge::endedLaunches, uint32_t(time)};
  times.knownAtBegin.join({&ended, 1});
}

void OrderCheck::kernelEnds(Device &device) {
  LaunchTimes &times = launches[device.launch];
  times.ended = ++time;
  passedOn.join(std::exchange(times.passedOn, {}));
}

/// The end of a launch is a release, the begin of the next one an acquire: what its waves knew of launches that still
/// run, the waves of later launches know.
void OrderCheck::passOn(const Wave &wave) {
  uint32_t launch = waves[wave.number].launch;
  bool isAlone = std::all_of(launches.begin(), launches.end(),
                             [&](const LaunchTimes &times) { return times.ended || &times == &launches[launch]; });
  if (isAlone)
    return;
  auto isRunning = [&](uint32_t other) {
    return waves[other].launch != launch && !launches[waves[other].launch].ended;
  };
  const WaveState &state = wave.checks->order;
  for (const Knowledge *each : {&state.known, &state.system, &state.seenSystem})
    launches[launch].passedOn.join(each->of(isRunning));
}

// ---- Races ----

class OrderCheck::Judge final : public AccessJudge {
public:
  /// `seesAll`: no cache that may be old is read.
  Judge(OrderCheck &check, const Wave &wave, bool seesAll)
      : check(check), wave(wave), launch(check.waves[wave.number].launch), state(wave.checks->order), seesAll(seesAll) {
  }

  uint32_t knownEpoch(uint32_t other, Stream stream) const override {
    const LaunchTimes &theirs = check.launches[check.waves[other].launch], &ours = check.launches[launch];
    if (theirs.ended && (theirs.ended < ours.began || theirs.ended < timeKnown()))
      return ~0u;
    return epochOf(Knowledge::idOf(other, stream));
  }
  bool isHidden(const Stamp &store, const Stamp &load) const override {
    return check.waves[store.wave].launch == launch && !(store.inScalarCache && store.wave == load.wave);
  }
  bool areCoherent(const Stamp &before, const Stamp &now) const override {
    return std::min(before.scope, now.scope) >= uint8_t(check.scopeOfBoth(before.wave, now.wave));
  }
  void race(const Stamp &before, const Stamp &now, uint64_t address) override {
    check.reportRace(wave, before, now, address);
  }

private:
  /// Launches that had ended then are over for this wave, whose devices told it so.
  uint32_t timeKnown() const { return epochOf(Knowledge::endedLaunches); }
  uint32_t epochOf(uint32_t id) const {
    uint32_t epoch = state.known.epochOf(id);
    return seesAll ? std::max({epoch, state.seenAgent.epochOf(id), state.seenSystem.epochOf(id)}) : epoch;
  }

  OrderCheck &check;
  const Wave &wave;
  uint32_t launch;
  const WaveState &state;
  bool seesAll;
};

uint32_t OrderCheck::indexOf(const Instruction &instruction) {
  RecentInstruction &recent = recentInstructions[(instruction.pc >> 2) % std::size(recentInstructions)];
  if (recent.instruction != &instruction) {
    auto [place, isNew] = instructionIndex.try_emplace(&instruction, uint32_t(instructions.size()));
    if (isNew)
      instructions.push_back(&instruction);
    recent = {&instruction, place->second};
  }
  return recent.index;
}

void OrderCheck::check(Wave &wave, const MemoryRequest &request, const Stamp &kind) {
  // A store, and a load that passes the caches by, is done after whatever the wave has seen.
  Judge judge(*this, wave, kind.writes || request.scope >= Scope::Agent);
  bool compares = request.kind == RequestKind::Atomic && !doubts.empty() &&
                  request.instruction->mnemonic.find("cmpswap") != std::string::npos;
  bool isWhole = !(request.lanes & (request.lanes + 1));
  if (request.isScalar() && isWhole && request.address[0] % 4 == 0)
    shadow.touchRow(judge, request.address[0], 4, unsigned(std::popcount(request.lanes)), kind);
  else if (!request.isScalar() && !compares && hasWholeLanes(request))
    checkLanes(judge, request, kind);
  else
    forAccesses(request, [&](unsigned lane, uint64_t address, unsigned bytes) {
      if (compares)
        settleDoubts(wave.number, address);
      Stamp stamp = kind;
      stamp.lane = uint8_t(lane);
      shadow.touch(judge, address, bytes, stamp);
    });
}

/// Lanes side by side at once, and those at the same place.
void OrderCheck::checkLanes(Judge &judge, const MemoryRequest &request, const Stamp &kind) {
  Stamp stamp = kind;
  uint64_t rest = globalLanes(request);
  while (rest) {
    LaneRun run = firstRun(request, rest);
    rest &= ~run.lanes;
    stamp.lane = uint8_t(std::countr_zero(run.lanes));
    uint64_t address = request.address[stamp.lane];
    unsigned count = unsigned(std::popcount(run.lanes));
    if (!run.isSame) {
      shadow.touchRow(judge, address, request.bytes, count, stamp);
      continue;
    }
    bool races = shadow.touch(judge, address, request.bytes, stamp);
    // Another lane of the wave finds what the first one left, and nothing new if nothing raced.
    for (uint64_t others = run.lanes & (run.lanes - 1); others; others &= others - 1)
      if (races || !(others & (others - 1))) {
        stamp.lane = uint8_t(std::countr_zero(others));
        shadow.touch(judge, address, request.bytes, stamp);
      }
  }
}

} // namespace heddle::simulator
