// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The schedules, the step of a wave, barriers, and how a launch ends when nothing can go on.
#include "simulator/machine/Machine.h"
#include "simulator/instructions/RelativeRegisters.h"
#include "simulator/machine/Resident.h"
#include "simulator/machine/Together.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle::simulator {
namespace {

/// A wave runs on until it waits, so that its registers stay in the cache; a wave that spins gives way after so many.
constexpr uint64_t instructionsPerSlice = 2048;
/// And so does a workgroup that never waits for another one.
constexpr uint64_t instructionsPerTurn = 1 << 20;
constexpr unsigned slicesPerTurn = 16;
/// A wave that loads the same again may wait for others, or prefetch the same tile at the end of its loop: a workgroup
/// goes on so often before it gives way.
constexpr unsigned yieldsPerTurn = 16;
constexpr uint64_t instructionsPerShortSlice = 8;
/// Where new workgroups run at once, no more begin in a pass after so many: others get their turns, and who watches the
/// time is asked. Several times as many when there are no others. The number of threads must not count here: it would
/// say which workgroups begin before one that is in its second turn.
constexpr uint64_t instructionsPerAdmission = 1 << 20, admissionsAlone = 8;
/// A request is performed when so many, of all waves, have been executed since its issue, or soon after.
constexpr uint64_t instructionsToAge = 1 << 14;
/// What is frozen gets a turn after so many of the others also when these never seem to wait: a wave that polls many
/// places looks like one that works.
constexpr uint64_t instructionsToThaw = 1 << 20;
constexpr uint64_t defaultLimit = uint64_t(4) << 30;

/// Under MODE's bits for indexed registers and for skipping, which kernels seldom set.
void executeInMode(Wave &wave, const Instruction &instruction) {
  if (wave.mode & skipMode && !isScalar(instruction))
    return;
  if (!(wave.mode & indexedMode) || !instruction.row || !instruction.mnemonic.starts_with("v_"))
    return instruction.execute(wave, instruction);
  Instruction moved = withRelativeRegisters(wave, instruction);
  moved.execute(wave, moved);
}

PortOptions portOptions(const RunOptions &options, Watcher *watcher) {
  PortOptions port;
  port.policy = options.policy;
  port.direct = !options.caches && options.policy == Policy::Earliest && !watcher;
  port.seed = options.seed;
  port.watcher = watcher;
  port.links = options.links;
  return port;
}

} // namespace

KernelRun::KernelRun() = default;
KernelRun::~KernelRun() = default;

Machine::Machine(MemorySystem &system, const RunOptions &given, Watcher *watcher)
    : system(system), options(given), watcher(watcher), port(system, portOptions(given, watcher)),
      random(given.seed ^ 0x5851f42d4c957f2d) {
  constexpr unsigned fineness[] = {1, 2, 4, 16, 64};
  mostInSlice = fineness[random() % std::size(fineness)];
  if (options.instructionLimit == 0)
    options.instructionLimit = defaultLimit;
  port.skippedTicks = options.firstTick;
  bool isWatchedApart = watcher && watcher->canWatchApart() && options.policy == Policy::Earliest && !options.caches;
  mayRunTogether = options.threads > 1 && options.schedule == Schedule::RunToBlock &&
                   (port.isDirect() || isWatchedApart) && !options.trace && !options.links;
}

Machine::~Machine() {
  for (KernelRun *run : running) // their end is not waited for any more; the devices have to know it
    system.endKernel(*run->device);
  for (auto &device : system.devices) // their compute units outlive the port's requests
    for (auto &unit : device->units)
      unit->issued.clear();
}

void Machine::begin(KernelRun &run) {
  run.residentGroups = std::max(run.residentGroups, 1u);
  run.number = nextLaunch++;
  run.device->launch = run.number;
  running.push_back(&run);
  noteProgress();
  system.beginKernel(*run.device);
  if (watcher)
    watcher->kernelBegins(*run.device);
}

void Machine::noteProgress() {
  hasThawed = false, nextSkip = firstSkip, progressedAt = executed;
}

std::unique_ptr<Machine::Resident> Machine::makeResident(const KernelRun &run) {
  auto made = std::make_unique<Resident>();
  made->pending.resize(run.launch->wavesPerGroup());
  for (uint32_t i = 0; i < run.launch->wavesPerGroup(); ++i) {
    made->group.waves.emplace_back(new Wave); // not zeroed: registers that a kernel lacks are never touched
    made->group.waves[i]->indexInGroup = i;
  }
  return made;
}

/// The next workgroup, but for its registers and LDS.
void Machine::seat(KernelRun &run, Resident &resident) {
  const Launch &launch = *run.launch;
  Workgroup &group = resident.group;
  std::array<uint32_t, 3> id = launch.groupId(run.next);
  std::copy(id.begin(), id.end(), group.id);
  group.device = run.device->index;
  group.launch = run.number;
  group.arrived = group.ended = 0;
  for (uint32_t i = 0; i < launch.wavesPerGroup(); ++i) {
    Wave &wave = *group.waves[i];
    wave.workgroup = &group;
    wave.memory = &port;
    wave.unit = run.device->units[run.next % run.device->units.size()].get();
    wave.pending = &resident.pending[i];
    wave.executed = 0;
    wave.number = nextWave++;
    wave.nextSerial = 0;
    wave.yields = false;
    wave.polls = {};
    wave.current = nullptr;
  }
  ++run.next;
  ++run.statistics.groups;
  run.statistics.waves += launch.wavesPerGroup();
}

void Machine::admit(KernelRun &run) {
  if (run.idle.empty())
    run.idle.push_back(makeResident(run));
  run.residents.push_back(std::move(run.idle.back()));
  run.idle.pop_back();
  Resident &resident = *run.residents.back();
  seat(run, resident);
  run.launch->startLds(resident.group.lds);
  for (auto &wave : resident.group.waves)
    run.launch->start(*wave, resident.group);
  if (watcher)
    watcher->groupBegins(resident.group);
}

// ---- One pass ----

/// The workgroups that are alive, as they get their turns.
std::vector<Machine::Place> Machine::order() {
  std::vector<Place> places;
  for (KernelRun *run : running)
    for (auto &resident : run->residents)
      places.push_back({run, resident.get()});
  if (options.schedule == Schedule::Random)
    std::shuffle(places.begin(), places.end(), random);
  else if (options.schedule == Schedule::LeapFrog && !places.empty())
    std::rotate(places.begin(), places.begin() + ptrdiff_t(options.seed % places.size()), places.end());
  return places;
}

bool Machine::isFrozen(const Place &place, size_t index) const {
  if (options.schedule != Schedule::Frozen || thawed)
    return false;
  size_t devices = system.devices.size();
  if (devices > 1)
    return place.run->device->index == options.seed % devices;
  return index == options.seed % std::max<size_t>(1, place.run->residents.size());
}

bool Machine::mayAdmit(const KernelRun &run, uint64_t until) const {
  return !run.ended && executed < until && run.next < run.launch->geometry.groupCount() &&
         run.residents.size() < run.residentGroups && !isOverLimit();
}

/// Starts workgroups while there is room. Where each runs until it waits, it has its first turn at once, and its waves
/// serve the next one if it ends.
bool Machine::admitAll(KernelRun &run) {
  bool progressed = false, isAlone = running.size() == 1 && run.residents.empty();
  uint64_t until = executed + instructionsPerAdmission * (isAlone ? admissionsAlone : 1);
  if (together)
    together->refresh();
  while (mayAdmit(run, until)) {
    if (mayRunTogether && admitTogether(run, until)) {
      progressed = true;
      continue;
    }
    if (together && watcher) // which may learn of bytes that nothing has written
      together->refresh();
    admit(run);
    if (options.schedule != Schedule::RunToBlock)
      continue;
    progressed |= runTurn({&run, run.residents.back().get()});
    if (!run.ended)
      retireGuarded(run, run.residents.size() - 1, options.policy == Policy::Earliest);
  }
  return progressed;
}

// ---- Several workgroups at once ----

std::optional<uint64_t> Machine::runAlone(KernelRun &run, uint64_t number, Speculation &speculation) {
  speculation.begin(system.home);
  port.speculate(&speculation);
  run.next = number;
  uint64_t before = executed;
  admit(run);
  runTurn({&run, run.residents.back().get()});
  if (run.ended)
    std::erase(running, &run);
  if (run.ended || !retire(run, run.residents.size() - 1, true))
    return {};
  return executed - before;
}

/// How many of the next workgroups run together. Few where each takes long; as many as make the barrier of the threads
/// take little where not, but not many in all: each is compared with all before it, and what watchers record is kept.
uint64_t Machine::countTogether(const KernelRun &run, uint64_t until) const {
  constexpr uint64_t mostPerThread = 64, mostTogether = 256;
  const uint64_t leastPerThread = watcher ? 2 : 8, instructionsPerThread = watcher ? 1 << 18 : 1 << 17;
  uint64_t average = run.statistics.instructions / run.statistics.groups + 1;
  uint64_t most = std::clamp(mostTogether / options.threads, leastPerThread, mostPerThread);
  uint64_t perThread = std::clamp(instructionsPerThread / average, leastPerThread, most);
  return std::min(
      {perThread * options.threads, run.launch->geometry.groupCount() - run.next, (until - executed) / average + 1});
}

/// What a workgroup did that has run apart.
void Machine::takeTurn(KernelRun &run, size_t index) {
  ++run.statistics.groupsApart;
  executed += together->instructions(index);
  run.statistics.instructions += together->instructions(index);
  if (watcher) {
    if (!run.repeated)
      run.repeated = makeResident(run);
    seat(run, *run.repeated);
    watcher->repeat(run.repeated->group, together->record(index));
    return together->forget(index);
  }
  together->stores(index).commit(system.home);
  run.statistics.waves += run.launch->wavesPerGroup();
  ++run.statistics.groups;
  ++run.next;
  nextWave += run.launch->wavesPerGroup();
}

/// Admits workgroups that have run to their ends, in their order. False when the next one has to run in its turn.
bool Machine::admitTogether(KernelRun &run, uint64_t until) {
  bool isUseless = run.badBatches > 4 && run.badBatches * 4 > run.batches;
  if (std::exchange(run.needsTurn, false) || isUseless || run.next == 0) // the first one has the code decoded
    return false;
  uint64_t count = countTogether(run, until);
  if (count < 2)
    return false;
  if (!together)
    together = std::make_unique<Together>(system, options, watcher);
  together->run(run, count);
  ++run.batches;
  for (size_t i = 0; i < count && mayAdmit(run, until); ++i) {
    if (!together->isGood(i)) {
      ++run.badBatches;
      run.needsTurn = i > 0;
      return i > 0;
    }
    takeTurn(run, i);
  }
  return true;
}

// ---- One pass ----

bool Machine::pass() {
  bool progressed = false;
  stuck = false;
  thawed |= executed - thawedAt > instructionsToThaw;
  if (thawed)
    thawedAt = executed;
  std::vector<Place> places = order();
  for (size_t i = 0; i < places.size(); ++i)
    if (options.schedule == Schedule::Random && random() % 2)
      progressed = true; // its turn comes
    else if (!places[i].run->ended && !isFrozen(places[i], i))
      progressed |= runTurn(places[i]);
  thawed = false;
  for (KernelRun *run : running) {
    bool allStarted = run->next == run->launch->geometry.groupCount();
    bool allEnded = std::all_of(run->residents.begin(), run->residents.end(), [](const auto &resident) {
      return resident->group.ended == resident->group.waves.size();
    });
    bool isFull = run->residents.size() >= run->residentGroups;
    progressed |= retireAll(*run, options.policy == Policy::Earliest || allEnded || (isFull && !allStarted));
    progressed |= admitAll(*run);
    if (!run->ended && run->residents.empty() && run->next == run->launch->geometry.groupCount())
      end(*run);
  }
  std::erase_if(running, [](const KernelRun *run) { return run->ended; });
  if (executed - agedAt > instructionsToAge) {
    agedAt = executed;
    port.age();
    endAtFault();
    std::erase_if(running, [](const KernelRun *run) { return run->ended; });
  }
  if (running.empty())
    return false;
  if (options.isCancelled && options.isCancelled())
    endAll("is stopped", {});
  else if (isOverLimit())
    endAll(fmt::format("has not ended after {} instructions of its waves", executed - countedFrom),
           {fmt::format("`--limit N` allows N instructions; now {}", options.instructionLimit)});
  else if (progressed)
    noteProgress();
  else if (!unblock()) {
    stuck = options.patient;
    if (!stuck)
      giveUp();
  }
  return !running.empty();
}

void Machine::stop(KernelRun &run, const Error &error) {
  abandon(run, KernelError(error));
  std::erase(running, &run);
}

static constexpr const char *waitsForEver = "waits for ever: nothing that its waves wait for changes any more";

void Machine::giveUp() {
  endAll(waitsForEver, {});
}

void Machine::giveUp(KernelRun &run) {
  run.isEndless = true;
  abandon(run, endlessError(run, waitsForEver, describeWaiting(), {}));
  std::erase(running, &run);
}

/// Takes a workgroup out if it has ended, and nothing of it is in flight any more; with `force` that is completed.
bool Machine::retire(KernelRun &run, size_t index, bool force) {
  Workgroup &group = run.residents[index]->group;
  if (group.ended < group.waves.size())
    return false;
  for (auto &wave : group.waves) {
    port.disturb(*wave->unit);
    if (!MemoryPort::isBusy(*wave))
      continue;
    if (!force)
      return false;
    port.finish(*wave);
  }
  if (port.hasFaults()) // perhaps its own: its waves are to be found still
    return false;
  if (watcher)
    watcher->groupEnds(group);
  run.idle.push_back(std::move(run.residents[index]));
  run.residents.erase(run.residents.begin() + ptrdiff_t(index));
  return true;
}

/// The same; what turns out to be at fault is over.
bool Machine::retireGuarded(KernelRun &run, size_t index, bool force) {
  bool retired = false;
  try {
    retired = retire(run, index, force);
  } catch (const Fault &fault) {
    endAtFault(); // happened before
    if (!run.ended)
      abandon(run, errorOf(run, *fault.wave, fault));
  }
  return endAtFault() || retired;
}

bool Machine::retireAll(KernelRun &run, bool force) {
  bool any = false;
  for (size_t i = run.residents.size(); i-- > 0 && !run.ended;)
    any |= retireGuarded(run, i, force);
  return any;
}

void Machine::end(KernelRun &run) {
  run.ended = true;
  countedFrom = executed;
  run.idle.clear();
  run.device->launch = run.number;
  system.endKernel(*run.device);
  if (watcher)
    watcher->kernelEnds(*run.device);
}

bool Machine::runTurn(const Place &place) {
  for (auto &wave : place.resident->group.waves) {
    wave->yields = false;
    if (wave->state == Wave::State::Sleeping)
      wave->state = Wave::State::Running;
  }
  switch (options.schedule) {
  case Schedule::RoundRobin:
    return runSlices(place, 1, instructionsPerShortSlice);
  case Schedule::Random:
    return runSlices(place, 1 + unsigned(random() % 4), 1 + random() % mostInSlice);
  case Schedule::RunToBlock:
    return runSlices(place, ~0u, instructionsPerSlice);
  default:
    return runSlices(place, slicesPerTurn, instructionsPerSlice);
  }
}

/// Lets waves run that yielded at plain loads, unless others wait by accesses that have a scope. Whether there are any.
static bool goOn(Workgroup &group) {
  auto yields = [](const auto &wave) { return wave->state == Wave::State::Running && wave->yields; };
  bool any = false;
  for (auto &wave : group.waves) {
    if (yields(wave) && !wave->polls.mayPrefetch)
      return false;
    any |= yields(wave);
  }
  for (auto &wave : group.waves)
    wave->yields = false;
  return any;
}

/// Whether anything happened that is more than finding what was found before.
bool Machine::runSlices(const Place &place, unsigned slices, uint64_t instructions) {
  Workgroup &group = place.resident->group;
  size_t count = group.waves.size(), first = 0;
  if (options.schedule == Schedule::LeapFrog)
    first = options.seed % count;
  bool progressed = false;
  uint64_t until = executed + instructionsPerTurn;
  unsigned yieldsLeft = options.schedule == Schedule::RunToBlock ? yieldsPerTurn : 0;
  for (unsigned slice = 0; slice < slices && executed < until && !place.run->ended; ++slice) {
    bool ran = false;
    for (size_t i = 0; i < count && !place.run->ended; ++i) {
      Wave &wave = *group.waves[options.schedule == Schedule::Random ? random() % count : (first + i) % count];
      if (wave.state != Wave::State::Running || (wave.yields && slice > 0))
        continue;
      ran = true;
      progressed |= runWave(*place.run, wave, instructions);
      if (place.run->ended)
        return true;
      if (wave.state == Wave::State::Ended) {
        ++group.ended;
        if (watcher)
          watcher->waveEnds(wave);
      }
      if (group.barrierIsComplete()) {
        if (group.ended > 0 && !finishEnded(*place.run, group))
          return true;
        openBarrier(group);
        progressed = true;
      }
      if (options.schedule == Schedule::LeapFrog && i > 0 && slice + 1 < slices)
        break; // the first goes on when it can; in the end everyone does
    }
    if (!ran && !(yieldsLeft && goOn(group)))
      break;
    yieldsLeft -= !ran;
  }
  return progressed;
}

/// A barrier opens when the others have terminated, and s_endpgm waits for everything before. False when something of
/// that was at fault.
bool Machine::finishEnded(KernelRun &run, Workgroup &group) {
  try {
    for (auto &wave : group.waves)
      if (wave->state == Wave::State::Ended)
        port.finish(*wave);
  } catch (const Fault &fault) {
    endAtFault(); // happened before
    if (!run.ended)
      abandon(run, errorOf(run, *fault.wave, fault));
  }
  endAtFault();
  return !run.ended;
}

void Machine::openBarrier(Workgroup &group) {
  group.arrived = 0;
  if (watcher)
    watcher->barrierOpens(group, group.ended > 0);
  for (auto &wave : group.waves)
    if (wave->state == Wave::State::AtBarrier)
      wave->state = Wave::State::Running;
}

template <bool watched>
void Machine::step(Program &program, Wave &wave, uint64_t most) {
  for (uint64_t i = 0; i < most && wave.state == Wave::State::Running && !wave.yields; ++i) {
    const Instruction &instruction = program.at(wave.pc);
    wave.current = &instruction;
    if constexpr (watched)
      if (wave.mode & skipMode && !isScalar(instruction)) { // nothing is to see it
        wave.pc += instruction.sizeBytes;
        ++wave.executed;
        continue;
      }
    if constexpr (watched)
      if (options.trace)
        options.trace(wave, instruction);
    wave.pc += instruction.sizeBytes;
    ++wave.executed;
    program.prefetch(wave.pc);
    if constexpr (watched)
      if (watcher)
        watcher->beforeInstruction(wave, instruction);
    if (wave.mode & (indexedMode | skipMode)) [[unlikely]]
      executeInMode(wave, instruction);
    else
      instruction.execute(wave, instruction);
    if constexpr (watched)
      if (watcher)
        watcher->afterInstruction(wave, instruction);
  }
}

bool Machine::runWave(KernelRun &run, Wave &wave, uint64_t most) {
  uint64_t before = wave.executed;
  auto count = [&] {
    executed += wave.executed - before;
    run.statistics.instructions += wave.executed - before;
  };
  port.startedTicks = executed - before;
  wave.yields = false;
  try {
    port.disturb(*wave.unit); // what the unit has in flight may fault
    if (port.hasFaults() && endAtFault())
      return true;
    if (options.trace || watcher)
      step<true>(*run.program, wave, most);
    else
      step<false>(*run.program, wave, most);
  } catch (const Fault &fault) {
    count();
    endAtFault(); // happened before
    if (!run.ended)
      abandon(run, errorOf(run, wave, fault));
    return true;
  }
  count();
  if (port.hasFaults() && endAtFault())
    return true;
  return wave.polls.repeated < 2 || wave.state == Wave::State::Ended || wave.state == Wave::State::AtBarrier;
}

} // namespace heddle::simulator
