// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/timing/UnitModel.h"
#include "simulator/timing/TraceEvents.h"
#include <algorithm>
#include <numeric>

namespace heddle::simulator {
namespace {

constexpr uint64_t never = ~uint64_t(0);
constexpr size_t vectorCapacity = 63, localCapacity = 15; ///< of vmcnt and lgkmcnt

uint64_t roundUp(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// What of its SIMD an instruction takes in a turn, as a bit; 0: nothing.
unsigned portOf(InstructionKind kind) {
  switch (kind) {
  case InstructionKind::Matrix:
  case InstructionKind::Vector:
    return 1;
  case InstructionKind::Scalar:
  case InstructionKind::ScalarMemory:
  case InstructionKind::Lds:
  case InstructionKind::Memory:
  case InstructionKind::Branch:
    return 1u << unsigned(kind);
  default:
    return 0;
  }
}

/// Vector registers, then scalar ones, then SCC.
constexpr unsigned vectorCount = 512, scalarCount = 128, registerCount = vectorCount + scalarCount + 1;

/// Calls `action(index)` for each register of the span.
template <typename Action>
void forRegisters(const RegisterSpan &span, Action action) {
  if (!span.isVector && span.first == sccRegister)
    return action(registerCount - 1);
  unsigned begin = span.isVector ? 0 : vectorCount, most = span.isVector ? vectorCount : scalarCount;
  for (unsigned index = span.first; index < std::min<unsigned>(span.first + span.words, most); ++index)
    action(begin + index);
}

} // namespace

const char *nameOf(Bound bound) {
  constexpr const char *names[boundCount] = {"matrix units",   "vector issue",     "other issue", "results", "LDS",
                                             "memory latency", "memory bandwidth", "barriers",    "sleep",   "no wave"};
  return names[unsigned(bound)];
}

uint64_t InstructionTime::waited() const {
  return std::accumulate(waits.begin(), waits.end(), uint64_t(0));
}

struct UnitModel::WaveModel {
  GroupModel *group = nullptr;
  unsigned index = 0; ///< in the group
  std::deque<TimedOperation> operations;
  bool isComplete = false, hasEnded = false, isAtBarrier = false;
  int priority = 0;
  uint64_t nextIssue = 0; ///< not before
  Bound nextBound = Bound::Idle;
  uint32_t previous = 0; ///< instruction, by index

  bool isPrepared = false; ///< the next two are of the first operation
  uint64_t ready = 0;      ///< as far as the wave itself is concerned
  Bound bound = Bound::Idle;
  Bound unitBound = Bound::Idle; ///< what it has waited for since then
  uint32_t waiting = 0;          ///< whose wait it is: a barrier's, not that of the instruction after it

  uint64_t registerReady[registerCount] = {};
  /// When a matrix instruction may add to registers that the one before wrote, all of them and no others.
  uint64_t accumulatorReady[vectorCount] = {};
  uint8_t accumulatorWords[vectorCount] = {};
  std::deque<Flight> vector, local; ///< what vmcnt and lgkmcnt count

  void raise(uint64_t time, Bound reason) {
    if (time > ready)
      ready = time, bound = reason;
  }
};

struct UnitModel::GroupModel {
  size_t index = 0;
  std::vector<std::unique_ptr<WaveModel>> waves;
  unsigned live = 0, arrived = 0;
};

UnitModel::UnitModel(const TimingModel &model, unsigned simdCount, unsigned resident, unsigned planned,
                     const std::deque<TimedInstruction> &instructions, TraceEvents *trace)
    : model(model), instructions(instructions), trace(trace), mostResident(std::max(1u, resident)), planned(planned),
      simds(simdCount) {}

UnitModel::~UnitModel() = default;

// ---- Workgroups ----

size_t UnitModel::beginGroup(unsigned waves) {
  auto group = std::make_unique<GroupModel>();
  group->index = groups.size();
  group->live = waves;
  for (unsigned i = 0; i < waves; ++i) {
    group->waves.push_back(std::make_unique<WaveModel>());
    group->waves.back()->group = group.get();
    group->waves.back()->index = i;
  }
  groups.push_back(std::move(group));
  return groups.size() - 1;
}

void UnitModel::push(size_t group, unsigned wave, const TimedOperation &operation) {
  groups[group]->waves[wave]->operations.push_back(operation);
}

uint64_t UnitModel::waiting(size_t group, unsigned wave) const {
  return groups[group]->waves[wave]->operations.size();
}

void UnitModel::endWave(size_t group, unsigned wave) {
  groups[group]->waves[wave]->isComplete = true;
}

/// Each wave goes to the SIMD with the fewest.
void UnitModel::place(GroupModel &group) {
  for (auto &wave : group.waves) {
    auto least = std::min_element(simds.begin(), simds.end(),
                                  [](const Simd &a, const Simd &b) { return a.waves.size() < b.waves.size(); });
    least->waves.push_back(wave.get());
    wave->nextIssue = now;
  }
  residents.push_back(&group);
}

/// False when a workgroup that has room is still to come.
bool UnitModel::admit() {
  while (residents.size() < mostResident && nextGroup < planned) {
    if (nextGroup >= groups.size())
      return false;
    place(*groups[nextGroup++]);
  }
  return true;
}

void UnitModel::endModel(WaveModel &wave) {
  wave.hasEnded = true;
  for (const std::deque<Flight> *flights : {&wave.vector, &wave.local})
    for (const Flight &flight : *flights)
      lastEnd = std::max(lastEnd, flight.end);
  for (Simd &simd : simds)
    std::erase(simd.waves, &wave);
  --wave.group->live;
  openBarrierIfComplete(*wave.group);
}

void UnitModel::openBarrierIfComplete(GroupModel &group) {
  if (group.arrived == 0 || group.arrived < group.live)
    return;
  group.arrived = 0;
  for (auto &wave : group.waves)
    if (wave->isAtBarrier) {
      wave->isAtBarrier = wave->isPrepared = false;
      wave->nextIssue = now + uint64_t(model.barrierCycles);
      wave->nextBound = Bound::Barrier;
    }
}

/// Takes out what has ended. False when the next instruction of some wave is still to come.
bool UnitModel::settle() {
  for (GroupModel *group : residents)
    for (auto &wave : group->waves)
      if (!wave->hasEnded && wave->operations.empty() && !wave->isAtBarrier) {
        if (!wave->isComplete)
          return false;
        endModel(*wave);
      }
  std::erase_if(residents, [&](GroupModel *group) {
    if (group->live > 0)
      return false;
    group->waves.clear(); // a group's index stays
    return true;
  });
  return true;
}

void UnitModel::advance() {
  for (;;) {
    if (!settle() || !admit() || residents.empty())
      return;
    if (!settle()) // of those that were admitted
      return;
    uint64_t next = never;
    bool hasIssued = false;
    uint64_t turn = uint64_t(model.issueCycles);
    for (size_t i = 0, first = firstSimd; i < simds.size(); ++i)
      hasIssued |= issueTurn(simds[(first + i) % simds.size()], next);
    if (hasIssued)
      now += turn;
    else if (next == never) // all that are left are at a barrier, or have ended
      return;
    else
      now = std::max(now + turn, roundUp(next, turn));
  }
}

const UnitTimes &UnitModel::finish() {
  planned = unsigned(groups.size());
  for (auto &group : groups)
    for (auto &wave : group->waves)
      wave->isComplete = true;
  advance();
  uint64_t computed = now;
  for (const Simd &simd : simds)
    computed = std::max({computed, simd.matrixFree, simd.vectorFree});
  uint64_t end = std::max(computed, lastEnd);
  for (Simd &simd : simds) { // no wave is left, but what is in flight
    spend(simd, computed, Bound::Idle, simd.matrixFree, simd.vectorFree, nullptr);
    spend(simd, end, Bound::Latency, simd.matrixFree, simd.vectorFree, nullptr);
  }
  result.cycles = end;
  result.instructions.resize(instructions.size());
  return result;
}

// ---- When the first operation of a wave may issue ----

void UnitModel::awaitRegisters(WaveModel &wave, const TimedInstruction &instruction) {
  for (const RegisterSpan &span : instruction.use) {
    bool isAccumulator = span.isVector && instruction.accumulatorWords == span.words &&
                         instruction.accumulator == span.first && wave.accumulatorWords[span.first] == span.words;
    if (isAccumulator)
      wave.raise(wave.accumulatorReady[span.first], Bound::Matrix);
    else
      forRegisters(span, [&](unsigned index) { wave.raise(wave.registerReady[index], Bound::Result); });
  }
}

/// What s_waitcnt waits for, or a full counter.
void UnitModel::awaitCounts(WaveModel &wave, const TimedInstruction &instruction) {
  auto await = [&](std::deque<Flight> &queue, size_t most) {
    while (!queue.empty() && queue.front().end <= wave.ready)
      queue.pop_front();
    for (size_t i = 0; i + most < queue.size(); ++i)
      wave.raise(queue[i].end, queue[i].bound);
  };
  switch (instruction.kind) {
  case InstructionKind::Wait:
    if (instruction.waits.waitsVector())
      await(wave.vector, instruction.waits.vector);
    if (instruction.waits.waitsLocal())
      await(wave.local, instruction.waits.local);
    break;
  case InstructionKind::Memory:
    await(wave.vector, vectorCapacity - 1);
    break;
  case InstructionKind::Lds:
  case InstructionKind::ScalarMemory:
    await(wave.local, localCapacity - 1);
    break;
  default:
    break;
  }
}

void UnitModel::prepareHead(WaveModel &wave) {
  const TimedInstruction &instruction = instructionOf(wave.operations.front());
  wave.isPrepared = true;
  wave.ready = wave.nextIssue;
  wave.bound = wave.nextBound;
  awaitRegisters(wave, instruction);
  awaitCounts(wave, instruction);
  wave.unitBound = wave.bound;
  bool waitsForPrevious = wave.ready == wave.nextIssue && wave.nextBound != Bound::Idle;
  wave.waiting = waitsForPrevious ? wave.previous : wave.operations.front().instruction;
}

/// When the unit of an instruction takes the next one, and what its waves are waiting for until then.
UnitModel::Flight UnitModel::unitFree(const Simd &simd, const TimedInstruction &instruction) const {
  auto queue = [](uint64_t busyUntil, int most) { return busyUntil > uint64_t(most) ? busyUntil - uint64_t(most) : 0; };
  switch (instruction.kind) {
  case InstructionKind::Matrix:
    return {std::max(simd.matrixFree, instruction.blocksVector ? simd.vectorFree : 0), Bound::Matrix};
  case InstructionKind::Vector:
    return {simd.vectorFree, Bound::Vector};
  case InstructionKind::Lds:
    return {queue(shared.lds, model.ldsQueueCycles), Bound::Lds};
  case InstructionKind::Memory:
    return {queue(shared.address, model.memoryQueueCycles), Bound::Bandwidth};
  default:
    return {0, Bound::OtherIssue};
  }
}

// ---- A turn of a SIMD ----

/// Cycles from where it stands to `until`: the matrix unit's first, then the vector unit's, then of `bound`.
void UnitModel::spend(Simd &simd, uint64_t until, Bound bound, uint64_t matrixFree, uint64_t vectorFree,
                      InstructionTime *waiting) {
  auto take = [&](uint64_t end, Bound of) {
    end = std::min(end, until);
    if (end <= simd.accounted)
      return;
    result.bounds[unsigned(of)] += end - simd.accounted;
    if (waiting && of == bound)
      waiting->waits[unsigned(of)] += end - simd.accounted;
    simd.accounted = end;
  };
  take(matrixFree, Bound::Matrix);
  take(vectorFree, Bound::Vector);
  take(until, bound);
}

/// Issues what it can; else lowers `next` to when it may.
bool UnitModel::issueTurn(Simd &simd, uint64_t &next) {
  const uint64_t matrixFree = simd.matrixFree, vectorFree = simd.vectorFree;
  const uint64_t turn = uint64_t(model.issueCycles);
  unsigned taken = 0;
  bool hasIssued = false, hasMatrix = false, hasVector = false;
  for (int priority = 3; priority >= 0; --priority)
    for (WaveModel *wave : simd.waves) {
      if (wave->priority != priority || wave->isAtBarrier || wave->hasEnded || wave->operations.empty())
        continue;
      if (!wave->isPrepared)
        prepareHead(*wave);
      if (wave->ready > now) {
        next = std::min(next, wave->ready);
        continue;
      }
      const TimedInstruction &instruction = instructionOf(wave->operations.front());
      unsigned port = portOf(instruction.kind);
      Flight unit = unitFree(simd, instruction);
      if (taken & port || unit.end > now) {
        next = std::min(next, std::max(unit.end, now + turn));
        if (!(taken & port))
          wave->unitBound = unit.bound;
        continue;
      }
      if (!hasIssued) { // what the SIMD has been waiting for is what this wave has
        result.instructions.resize(std::max(result.instructions.size(), instructions.size()));
        InstructionTime &itself = result.instructions[wave->operations.front().instruction];
        spend(simd, std::min(now, wave->ready), wave->bound, matrixFree, vectorFree,
              &result.instructions[wave->waiting]);
        spend(simd, now, wave->unitBound, matrixFree, vectorFree, &itself);
      }
      hasIssued = true;
      hasMatrix |= instruction.kind == InstructionKind::Matrix;
      hasVector |= instruction.kind == InstructionKind::Vector;
      taken |= port;
      issue(simd, *wave);
      if (instruction.kind == InstructionKind::Lds || instruction.kind == InstructionKind::Memory)
        firstSimd = size_t(&simd - simds.data()) + 1;
    }
  if (hasIssued)
    spend(simd, now + turn,
          hasMatrix   ? Bound::Matrix
          : hasVector ? Bound::Vector
                      : Bound::OtherIssue,
          matrixFree, vectorFree, nullptr);
  return hasIssued;
}

// ---- Issue ----

void UnitModel::writeRegisters(WaveModel &wave, const TimedInstruction &instruction) {
  if (instruction.use.landsLater)
    return; // waits say when it is there
  for (const RegisterSpan &span : instruction.use)
    if (span.isWritten)
      forRegisters(span, [&](unsigned index) {
        wave.registerReady[index] = now + instruction.latencyCycles;
        if (span.isVector)
          wave.accumulatorWords[index] = 0;
      });
}

void UnitModel::issueMatrix(Simd &simd, WaveModel &wave, const TimedInstruction &instruction) {
  simd.matrixFree = now + instruction.busyCycles;
  if (instruction.blocksVector)
    simd.vectorFree = std::max(simd.vectorFree, simd.matrixFree);
  result.matrixBusy += instruction.busyCycles;
  result.matrixOperations += instruction.operations;
  const Operand &destination = instruction.instruction.operands[0];
  if (destination.isVector()) {
    wave.accumulatorReady[destination.index] = now + instruction.busyCycles;
    wave.accumulatorWords[destination.index] = destination.words;
  }
  if (trace)
    trace->busy(TraceEvents::Unit::Matrix, unsigned(&simd - simds.data()), wave.group->index,
                instruction.instruction.mnemonic, now, instruction.busyCycles);
}

void UnitModel::issueLds(WaveModel &wave, const TimedOperation &operation) {
  uint64_t begin = std::max(shared.lds, now);
  shared.lds = begin + operation.ldsCycles;
  result.ldsBusy += operation.ldsCycles;
  wave.local.push_back({shared.lds + uint64_t(model.ldsLatencyCycles), Bound::Lds});
  if (trace)
    trace->busy(TraceEvents::Unit::Lds, 0, wave.group->index, instructionOf(operation).instruction.mnemonic, begin,
                operation.ldsCycles);
}

unsigned UnitModel::latencyOf(const TimedOperation &operation) const {
  return unsigned(operation.fromMemory      ? model.memoryCycles
                  : operation.fromLastLevel ? model.lastLevelCycles
                  : operation.fromL2        ? model.l2Cycles
                                            : model.vectorCacheCycles);
}

/// Addresses, lookup, the path from L2 and the path to registers have queues; then comes the latency.
void UnitModel::issueMemory(WaveModel &wave, const TimedInstruction &instruction, const TimedOperation &operation) {
  auto cyclesOf = [](uint64_t amount, int perCycle) { return (amount + uint64_t(perCycle) - 1) / uint64_t(perCycle); };
  auto occupy = [](uint64_t &busyUntil, uint64_t from, uint64_t cycles) {
    return busyUntil = std::max(busyUntil, from) + cycles;
  };
  uint64_t addressed =
      occupy(shared.address, now,
             std::max(cyclesOf(waveLanes, model.addressLanesPerCycle), cyclesOf(operation.lines, model.linesPerCycle)));
  uint64_t pathCycles = cyclesOf(operation.fromL2 * lineBytes, model.unitBytesPerCycle);
  uint64_t moved = pathCycles ? occupy(shared.path, addressed - 4, pathCycles) : addressed;
  result.pathBusy += pathCycles;
  moved =
      std::max(moved, occupy(shared.data, addressed - 4, cyclesOf(operation.bytes, model.vectorCacheBytesPerCycle)));
  if (operation.goesToLds) {
    uint64_t ldsCycles = cyclesOf(operation.bytes, model.ldsWriteBytesPerCycle);
    occupy(shared.lds, now, ldsCycles);
    result.ldsBusy += ldsCycles;
  }
  uint64_t latency = latencyOf(operation), end = moved + latency;
  if (!wave.vector.empty())
    end = std::max(end, wave.vector.back().end);
  wave.vector.push_back({end, moved - now > latency / 2 ? Bound::Bandwidth : Bound::Latency});
  if (trace)
    trace->inFlight(wave.group->index, wave.index, instruction.instruction.mnemonic, now, end - now, operation.bytes);
}

void UnitModel::issueScalarMemory(WaveModel &wave, const TimedOperation &operation) {
  unsigned latency = operation.fromL2 ? latencyOf(operation) : unsigned(model.scalarCacheCycles);
  wave.local.push_back({now + latency, Bound::Latency});
}

void UnitModel::issue(Simd &simd, WaveModel &wave) {
  TimedOperation operation = wave.operations.front();
  const TimedInstruction &instruction = instructionOf(operation);
  wave.operations.pop_front();
  ++result.executed;
  ++result.instructions[operation.instruction].executed;
  if (trace)
    trace->issue(wave.group->index, wave.index, instruction.kind, wave.nextIssue, now, wave.unitBound);
  wave.isPrepared = false;
  wave.previous = operation.instruction;
  wave.nextIssue = now + uint64_t(model.issueCycles) + instruction.idleCycles;
  wave.nextBound = instruction.idleCycles ? Bound::Result : Bound::OtherIssue;
  writeRegisters(wave, instruction);
  switch (instruction.kind) {
  case InstructionKind::Matrix:
    issueMatrix(simd, wave, instruction);
    break;
  case InstructionKind::Vector:
    simd.vectorFree = now + instruction.busyCycles;
    result.vectorBusy += instruction.busyCycles;
    break;
  case InstructionKind::Lds:
    issueLds(wave, operation);
    break;
  case InstructionKind::Memory:
    issueMemory(wave, instruction, operation);
    break;
  case InstructionKind::ScalarMemory:
    issueScalarMemory(wave, operation);
    break;
  case InstructionKind::Branch:
    if (operation.isTaken)
      wave.nextIssue = now + uint64_t(model.takenBranchCycles);
    break;
  case InstructionKind::Barrier:
    wave.isAtBarrier = true;
    ++wave.group->arrived;
    openBarrierIfComplete(*wave.group);
    break;
  case InstructionKind::Other:
    if (instruction.priority >= 0)
      wave.priority = instruction.priority;
    else if (instruction.instruction.mnemonic == "s_sleep")
      wave.nextBound = Bound::OtherWait;
    break;
  default:
    break;
  }
}

} // namespace heddle::simulator
