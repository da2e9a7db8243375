// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/machine/Machine.h"
#include "simulator/instructions/InstructionTable.h"
#include "support/Error.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle::simulator {
namespace {

/// A wave runs on until it waits, so that its registers stay in the cache; a wave that spins gives way after so many.
constexpr uint64_t instructionsPerSlice = 2048;
constexpr unsigned slicesPerTurn = 16;

/// Executes with the index in M0 added to the vector registers of the operands that M0 names: bits 12, 13 and 14 the
/// sources, 15 the destination.
void executeIndexed(Wave &wave, const Instruction &instruction) {
  if (!instruction.row || !instruction.mnemonic.starts_with("v_"))
    return instruction.execute(wave, instruction);
  Instruction moved = instruction;
  uint32_t m0 = wave.s[m0Register];
  for (unsigned i = 0; i < moved.operandCount; ++i) {
    bool isDestination = i < instruction.row->destinations;
    unsigned bit = isDestination ? 15 : 12 + i - instruction.row->destinations;
    if (!moved.operands[i].isVector() || bit > 15 || (!isDestination && bit > 14) || !(m0 >> bit & 1))
      continue;
    unsigned index = moved.operands[i].index + (m0 & 255), limit = moved.operands[i].index < 256 ? 256 : 512;
    if (index + moved.operands[i].words > limit)
      throw Fault(fmt::format("indexes vector register {} with M0, and there are 256", index % 256 + 256));
    moved.operands[i].index = uint16_t(index);
  }
  moved.execute(wave, moved);
}

} // namespace

/// A workgroup and what its waves have under way, used again for later workgroups.
struct Machine::Resident {
  Workgroup group;
  std::vector<PendingRequests> pending;
};

Machine::Machine(AddressSpace &memory, Program &program, const Launch &launch, const RunOptions &options)
    : program(program), launch(launch), options(options), port(memory, options.policy) {}
Machine::~Machine() = default;

void Machine::admit(uint64_t number) {
  if (idle.empty()) {
    idle.push_back(std::make_unique<Resident>());
    Resident &made = *idle.back();
    made.pending.resize(launch.wavesPerGroup());
    for (uint32_t i = 0; i < launch.wavesPerGroup(); ++i) {
      made.group.waves.emplace_back(new Wave); // not zeroed: registers that a kernel lacks are never touched
      made.group.waves[i]->indexInGroup = i;
    }
  }
  residents.push_back(std::move(idle.back()));
  idle.pop_back();
  Workgroup &group = residents.back()->group;
  std::array<uint32_t, 3> id = launch.groupId(number);
  std::copy(id.begin(), id.end(), group.id);
  group.arrived = group.ended = 0;
  launch.startLds(group.lds);
  for (uint32_t i = 0; i < launch.wavesPerGroup(); ++i) {
    Wave &wave = *group.waves[i];
    wave.workgroup = &group;
    wave.memory = &port;
    wave.pending = &residents.back()->pending[i];
    wave.executed = 0;
    launch.start(wave, group);
  }
  ++statistics.groups;
  statistics.waves += launch.wavesPerGroup();
}

RunStatistics Machine::run() {
  uint64_t next = 0, count = launch.geometry.groupCount();
  while (next < count || !residents.empty()) {
    if (next < count && residents.size() < options.residentGroups)
      admit(next++);
    for (size_t i = 0; i < residents.size();) {
      runTurn(*residents[i]);
      if (residents[i]->group.ended == residents[i]->group.waves.size()) {
        idle.push_back(std::move(residents[i]));
        residents.erase(residents.begin() + ptrdiff_t(i));
      } else
        ++i;
    }
    if (statistics.instructions > options.instructionLimit)
      reportLimit(count - next);
  }
  return statistics;
}

void Machine::runTurn(Resident &resident) {
  Workgroup &group = resident.group;
  for (auto &wave : group.waves)
    if (wave->state == Wave::State::Sleeping)
      wave->state = Wave::State::Running;
  for (unsigned slice = 0; slice < slicesPerTurn; ++slice) {
    bool ran = false;
    for (auto &wave : group.waves) {
      if (wave->state != Wave::State::Running)
        continue;
      ran = true;
      runWave(*wave, instructionsPerSlice);
      group.ended += wave->state == Wave::State::Ended;
      if (group.barrierIsComplete())
        openBarrier(group);
    }
    if (!ran)
      return;
  }
}

void Machine::openBarrier(Workgroup &group) {
  group.arrived = 0;
  for (auto &wave : group.waves)
    if (wave->state == Wave::State::AtBarrier)
      wave->state = Wave::State::Running;
}

template <bool traced>
void Machine::step(Wave &wave, uint64_t most) {
  for (uint64_t i = 0; i < most && wave.state == Wave::State::Running; ++i) {
    const Instruction &instruction = program.at(wave.pc);
    wave.current = &instruction;
    if constexpr (traced)
      options.trace(wave, instruction);
    wave.pc += instruction.sizeBytes;
    ++wave.executed;
    if (wave.mode & indexedMode) [[unlikely]]
      executeIndexed(wave, instruction);
    else
      instruction.execute(wave, instruction);
  }
}

void Machine::runWave(Wave &wave, uint64_t most) {
  uint64_t before = wave.executed;
  port.startedTicks = statistics.instructions - before;
  wave.current = nullptr;
  try {
    if (options.trace)
      step<true>(wave, most);
    else
      step<false>(wave, most);
  } catch (const Fault &fault) {
    const uint32_t *id = wave.workgroup->id;
    // The counter is behind the instruction unless the fault is that there is none.
    bool isFetch =
        !wave.current || (wave.current->pc + wave.current->sizeBytes != wave.pc && wave.current->pc != wave.pc);
    throw LocatedFault{fault,
                       {id[0], id[1], id[2]},
                       wave.indexInGroup,
                       isFetch ? wave.pc : wave.current->pc,
                       isFetch ? "" : wave.current->text};
  }
  statistics.instructions += wave.executed - before;
}

void Machine::reportLimit(uint64_t notStarted) const {
  std::vector<std::string> notes;
  for (const auto &resident : residents)
    for (const auto &wave : resident->group.waves)
      if (wave->state != Wave::State::Ended && notes.size() < 4)
        notes.push_back(fmt::format("workgroup {},{},{} wave {} {} after `{}`", resident->group.id[0],
                                    resident->group.id[1], resident->group.id[2], wave->indexInGroup,
                                    wave->state == Wave::State::AtBarrier ? "waits at a barrier" : "runs",
                                    wave->current ? wave->current->text : "nothing"));
  if (notStarted)
    notes.push_back(fmt::format("{} workgroups had not started; a kernel that waits for them needs more than {} alive "
                                "at once, `--resident N`",
                                notStarted, options.residentGroups));
  notes.push_back("`--limit N` allows N instructions");
  throw Error(ErrorClass::WrongResult,
              fmt::format("the kernel has not ended after {} instructions of its waves", statistics.instructions),
              notes);
}

} // namespace heddle::simulator
