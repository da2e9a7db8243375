// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Chooses the workgroups of one compute unit, times them, and scales the result to the launch.
#include "simulator/timing/Timing.h"
#include "simulator/memory/LineSet.h"
#include "simulator/state/Workgroup.h"
#include "simulator/timing/LdsRows.h"
#include <algorithm>

namespace heddle::simulator {
namespace {

constexpr uint64_t operationsPerAdvance = 4096;

uint8_t byteOf(unsigned count) {
  return uint8_t(std::min(count, 255u));
}

unsigned plannedGroups(const TimingOptions &options, uint64_t unitGroups) {
  uint64_t wanted = options.groups ? options.groups : 2 * uint64_t(options.residentGroups);
  return unsigned(std::min({wanted, unitGroups, uint64_t(1) << 20}));
}

} // namespace

Timing::Timing(const Chip &chip, const TimingOptions &given)
    : chip(chip), model(timingOf(chip)), options(given), units(uint64_t(chip.computeUnits)),
      unitGroups((given.launchGroups + units - 1) / units), planned(plannedGroups(given, unitGroups)), levels(model),
      disassembler(chip.processor),
      unit(model, unsigned(chip.unit.simds), given.residentGroups, planned, instructions, given.trace) {}

Timing::~Timing() = default;

// ---- Waves ----

/// Workgroups begin in their order; compute unit 0 gets every so many.
void Timing::groupBegins(Workgroup &group) {
  uint64_t number = nextGroup++;
  bool isTimed = number % units == 0 && number / units < planned;
  size_t index = isTimed ? unit.beginGroup(unsigned(group.waves.size())) : 0;
  for (const auto &wave : group.waves)
    if (isTimed)
      waves[wave.get()] = {index, wave->indexInGroup};
    else
      waves.erase(wave.get());
  lastWave = nullptr;
}

Timing::TimedWave *Timing::timedWave(const Wave &wave) {
  if (lastWave != &wave) {
    auto found = waves.find(&wave);
    lastWave = &wave;
    lastTimed = found == waves.end() ? nullptr : &found->second;
  }
  return lastTimed;
}

void Timing::waveEnds(Wave &wave) {
  if (TimedWave *timed = timedWave(wave)) {
    unit.endWave(timed->group, timed->index);
    unit.advance();
    waves.erase(&wave);
    lastWave = nullptr;
  }
}

// ---- Instructions ----

uint32_t Timing::indexOf(Wave &wave, const Instruction &instruction) {
  auto [found, isNew] = indices.try_emplace(&instruction, uint32_t(instructions.size()));
  if (isNew) {
    std::optional<Disassembler::Scheduling> scheduling;
    if (const Allocation *code = wave.memory->global.owner(instruction.pc))
      scheduling = disassembler.schedulingOf(
          {code->bytes.get() + (instruction.pc - code->base), size_t(code->end() - instruction.pc)});
    instructions.push_back(timedInstructionOf(instruction, model, scheduling));
  }
  return found->second;
}

void Timing::beforeInstruction(Wave &wave, const Instruction &instruction) {
  if (timedWave(wave)) {
    operation = {};
    operation.instruction = indexOf(wave, instruction);
  }
}

void Timing::afterInstruction(Wave &wave, const Instruction &instruction) {
  TimedWave *timed = timedWave(wave);
  if (!timed)
    return;
  uint64_t sharing = wave.workgroup->waves.size() * std::min(options.residentGroups, planned);
  timed->isCut |= unit.waiting(timed->group, timed->index) >= options.mostOperations / sharing;
  if (timed->isCut) {
    ++untimed;
    return;
  }
  operation.isTaken = wave.pc != instruction.pc + instruction.sizeBytes;
  unit.push(timed->group, timed->index, operation);
  if (++pushed % operationsPerAdvance == 0)
    unit.advance();
}

// ---- Memory ----

LevelCounts Timing::touch(Wave &wave, const MemoryRequest &request, bool isTimed) {
  LineSet lines(request);
  unsigned xcd = wave.unit->xcd;
  if (request.kind == RequestKind::Atomic)
    return levels.update(lines.all(), xcd);
  if (request.kind == RequestKind::Store)
    return levels.store(lines.all(), xcd);
  if (request.isScalar())
    return levels.loadScalar(lines.all(), xcd, isTimed);
  return levels.load(lines.all(), xcd, isTimed, request.scope >= Scope::Agent);
}

void Timing::addRequest(Wave &wave, const MemoryRequest &request) {
  if (request.space == Space::Lds) {
    LdsRows rows = ldsRowsOf(request, model, unsigned(chip.sharedMemoryBanks));
    operation.ldsCycles = uint16_t(rows.cycles);
    ++ldsInstructions;
    ldsConflictCycles += rows.conflictCycles;
    return;
  }
  bool touches = request.space == Space::Global || request.space == Space::Flat;
  LevelCounts counts = touches ? touch(wave, request, true) : LevelCounts();
  operation.goesToLds = request.kind == RequestKind::LoadToLds;
  operation.lines = byteOf(counts.lines);
  operation.fromL2 = byteOf(counts.fromL2);
  operation.fromLastLevel = byteOf(counts.fromLastLevel);
  operation.fromMemory = byteOf(counts.fromMemory);
  if (request.queues & MemoryRequest::Lds && !touches && request.kind == RequestKind::Other) // a move between lanes
    operation.ldsCycles = uint16_t(4 * waveLanes / unsigned(model.ldsWriteBytesPerCycle));
  else if (!request.isScalar())
    operation.bytes = uint16_t(unsigned(std::popcount(request.lanes)) * request.bytes);
}

void Timing::issued(Wave &wave, MemoryRequest &request) {
  if (timedWave(wave)) {
    addRequest(wave, request);
    if (request.kind == RequestKind::Invalidate)
      levels.invalidateVectorCache();
    else if (request.kind == RequestKind::ScalarInvalidate)
      levels.invalidateScalarCache();
  } else if (request.space == Space::Global || request.space == Space::Flat)
    touch(wave, request, false);
}

// ---- The report ----

TimingReport Timing::report() {
  TimingReport report;
  report.unit = unit.finish();
  report.unitGroups = unitGroups;
  report.timedGroups = unsigned(std::min<uint64_t>(planned, (nextGroup + units - 1) / units));
  report.residentGroups = std::min(options.residentGroups, report.timedGroups);
  report.activeUnits = std::min(units, options.launchGroups);
  report.untimed = untimed;
  report.ldsInstructions = ldsInstructions;
  report.ldsConflictCycles = ldsConflictCycles;
  report.traffic = levels.traffic;
  const UnitTimes &times = report.unit;
  double scale = double(unitGroups) / std::max(report.timedGroups, 1u);
  scale *= double(times.executed + untimed) / double(std::max<uint64_t>(times.executed, 1));
  report.unitCycles = double(times.cycles) * scale;
  double bytes = double(report.traffic.read + report.traffic.written) * lineBytes;
  report.memoryCycles = bytes / (model.bytesPerCycle(model.memoryBytesPerSecond) * model.attainableShare);
  report.lastLevelCycles =
      double(report.traffic.lastLevel) * lineBytes / model.bytesPerCycle(model.lastLevelBytesPerSecond);
  report.cycles = std::max({report.unitCycles, report.memoryCycles, report.lastLevelCycles});
  report.seconds = report.cycles / model.clockHz;
  if (report.cycles == 0)
    return report;
  for (unsigned bound = 0; bound < boundCount; ++bound)
    report.shares[bound] = double(times.bounds[bound]) * scale / chip.unit.simds / report.cycles;
  report.shares[unsigned(Bound::Bandwidth)] += 1 - report.unitCycles / report.cycles;
  double groups = double(options.launchGroups) / std::max(report.timedGroups, 1u);
  double left = double(times.executed + untimed) / double(std::max<uint64_t>(times.executed, 1));
  report.matrixOperationsPerSecond = double(times.matrixOperations) * groups * left / report.seconds;
  return report;
}

} // namespace heddle::simulator
