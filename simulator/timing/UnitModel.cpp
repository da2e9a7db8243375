// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Issues what waves give it, cycle by cycle, and books each idle cycle to what was waited for.
#include "simulator/timing/UnitModel.h"
#include "simulator/timing/UnitWaves.h"
#include <algorithm>
#include <numeric>

namespace heddle::simulator {
namespace {

constexpr uint64_t never = ~uint64_t(0);
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

} // namespace

const char *nameOf(Bound bound) {
  constexpr const char *names[boundCount] = {"matrix units",   "vector issue",     "other issue", "results", "LDS",
                                             "memory latency", "memory bandwidth", "barriers",    "sleep",   "no wave"};
  return names[unsigned(bound)];
}

uint64_t InstructionTime::waited() const {
  return std::accumulate(waits.begin(), waits.end(), uint64_t(0));
}

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

} // namespace heddle::simulator
