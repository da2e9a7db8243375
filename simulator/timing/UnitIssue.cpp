// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// When an instruction may issue, and what its issue does to the units of the compute unit.
#include "simulator/timing/TraceEvents.h"
#include "simulator/timing/UnitWaves.h"
#include <algorithm>

namespace heddle::simulator {
namespace {

constexpr size_t vectorCapacity = 63, localCapacity = 15; ///< of vmcnt and lgkmcnt

} // namespace

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
  moved =
      std::max(moved, occupy(shared.data, addressed - 4, cyclesOf(operation.bytes, model.vectorCacheBytesPerCycle)));
  if (operation.goesToLds) {
    // Booked here, not when the bytes arrive: others may use LDS until then.
    uint64_t ldsCycles = cyclesOf(operation.bytes, model.ldsWriteBytesPerCycle);
    uint64_t done = occupy(shared.lds, now, ldsCycles);
    result.ldsBusy += ldsCycles;
    if (trace)
      trace->busy(TraceEvents::Unit::Lds, 0, wave.group->index, instruction.instruction.mnemonic, done - ldsCycles,
                  ldsCycles);
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
