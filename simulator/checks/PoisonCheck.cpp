// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Starts waves with poison, and reports addresses, branches and other uses that depend on it.
#include "simulator/checks/PoisonCheck.h"
#include "simulator/checks/Checks.h"
#include "simulator/instructions/LaneMoves.h"
#include "simulator/instructions/RelativeRegisters.h"
#include "simulator/state/Fault.h"
#include "simulator/state/Workgroup.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle::simulator {
namespace {

using WaveState = PoisonCheck::WaveState;

WaveState &stateOf(Wave &wave) {
  return wave.checks->poison;
}

CarriedPoison *carriedBy(WaveState &state, const MemoryRequest &request) {
  for (CarriedPoison &carried : state.carried)
    if (carried.request == &request)
      return &carried;
  return nullptr;
}

/// It leaves what it was given, whatever was there.
bool isExchange(const Instruction &instruction) {
  return instruction.mnemonic.find("wrxchg") != std::string::npos ||
         instruction.mnemonic.find("_atomic_swap") != std::string::npos;
}

bool mayReachGlobal(const MemoryRequest &request) {
  return request.space == Space::Global || request.space == Space::Flat;
}

/// No source is poison: neither is what the instruction writes.
void overwrite(const Wave &wave, PoisonRegisters &registers, const Instruction &instruction, const PoisonPlan &plan) {
  for (unsigned i = 0; i < plan.destinations; ++i) {
    const Operand &operand = instruction.operands[i];
    if (operand.isVector())
      for (unsigned row = operand.index; row < unsigned(operand.index + operand.words); ++row)
        registers.cleanRow(row, wave.exec());
    else if (operand.kind == Operand::Kind::Scalar && operand.index < 128)
      for (unsigned word = 0; word < std::min<unsigned>(operand.words, 2); ++word)
        registers.setScalar((operand.index + word) & 127, 0);
  }
  if (instruction.row->implicit & writesScc)
    registers.scc = false;
}

} // namespace

//===-- Waves ----------------------------------------------------------------------------------------------------===//

void PoisonCheck::groupBegins(Workgroup &group) {
  if (spareLds.empty())
    spareLds.push_back(std::make_shared<PoisonBytes>());
  std::shared_ptr<PoisonBytes> lds = std::move(spareLds.back());
  spareLds.pop_back();
  lds->reset(group.lds.size());
  for (auto &wave : group.waves) {
    WaveState &state = stateOf(*wave);
    if (spare.empty())
      spare.push_back(std::make_unique<PoisonRegisters>());
    state.registers = std::move(spare.back());
    spare.pop_back();
    state.registers->begin(wave->givenScalars);
    state.scratch.reset(wave->scratch.size());
    state.lds = lds;
  }
}

void PoisonCheck::groupEnds(Workgroup &group) {
  spareLds.push_back(stateOf(*group.waves.front()).lds);
  for (auto &wave : group.waves)
    spare.push_back(std::move(stateOf(*wave).registers));
}

void PoisonCheck::kernelBegins(Device &) {
  hasUnwrittenBuffers = system.home.prepareUnwritten();
}

void PoisonCheck::beforeInstruction(Wave &wave, const Instruction &instruction) {
  if (wave.mode & indexedMode && instruction.mnemonic.starts_with("v_")) [[unlikely]]
    return executeIndexed(wave, instruction);
  WaveState &state = stateOf(wave);
  const PoisonPlan &plan = plans.of(instruction);
  PoisonRegisters &registers = *state.registers;
  if (plan.kind == PoisonPlan::Kind::Nothing ||
      (plan.staysClean && !plan.registers.meets(registers.maybe) && !(plan.namesScc && registers.scc)))
    return;
  if (plan.overwrites && !plan.sources.meets(registers.maybe) && !(plan.readsScc && registers.scc))
    overwrite(wave, registers, instruction, plan);
  else
    state.scc = PoisonStep(wave, *state.registers, instruction, plan, *this).run();
}

void PoisonCheck::executeIndexed(Wave &wave, const Instruction &instruction) {
  PoisonRegisters &registers = *stateOf(wave).registers;
  constexpr uint32_t read = 0xf0ff;
  if (registers.scalars[m0Register] & read) {
    reached(wave, instruction, PoisonSink::M0, registers.scalarOrigins[m0Register], -1);
    registers.setScalar(m0Register, 0);
  }
  Instruction moved = withRelativeRegisters(wave, instruction);
  stateOf(wave).scc = PoisonStep(wave, registers, moved, poisonPlanOf(moved), *this).run();
}

void PoisonCheck::afterInstruction(Wave &wave, const Instruction &) {
  WaveState &state = stateOf(wave);
  if (!state.scc.isWritten)
    return;
  state.scc.isWritten = false;
  // A bit of the result that is known to be set settles that it is not 0.
  uint64_t bits = state.scc.bits, value = 0;
  if (!state.scc.is64)
    bits &= 0xFFFFFFFF;
  if (state.scc.destination >= 0)
    value = state.scc.is64 ? wave.scalar64(state.scc.destination & 127) : wave.s[state.scc.destination & 127];
  state.registers->scc = bits && !(value & ~bits);
}

//===-- Memory requests ------------------------------------------------------------------------------------------===//

/// The poison of data to store.
void PoisonCheck::gather(Wave &wave, const MemoryRequest &request, CarriedPoison &carried) {
  const Instruction &instruction = *request.instruction;
  const PoisonRegisters &registers = *stateOf(wave).registers;
  std::string_view name = instruction.mnemonic;
  for (unsigned word = 0; word < request.words && request.isScalar(); ++word) {
    unsigned index = (instruction.operands[0].index + word) & 127;
    carried.scalars[word] = registers.scalars[index];
    if (registers.scalars[index] && !carried.origin)
      carried.origin = registers.scalarOrigins[index];
  }
  if (request.isScalar())
    return;
  unsigned first = name.starts_with("buffer_") ? 0 : 1, operands = request.pieces;
  unsigned words = request.words / operands;
  for (unsigned operand = 0; operand < operands; ++operand)
    for (unsigned word = 0; word < words; ++word) {
      unsigned row = instruction.operands[first + operand].index + word;
      PoisonRow poison = registers.rows[row];
      if (name.ends_with("_d16_hi"))
        poison = {{poison.bytes[2], poison.bytes[3], 0, 0}};
      for (unsigned byte = request.bytes; byte < 4; ++byte)
        poison.bytes[byte] = 0;
      for (uint64_t &lanes : poison.bytes)
        lanes &= request.lanes;
      carried.words[operand * words + word] = poison;
      for (uint64_t lanes = registers.partial.empty() || request.bytes < 4 ? 0 : poison.lanes(); lanes;
           lanes &= lanes - 1) {
        auto lane = unsigned(std::countr_zero(lanes));
        if (uint32_t bits = registers.bitsOf(row, lane); bits != poison.bitsOf(lane))
          carried.partial.push_back({uint8_t(operand * words + word), uint8_t(lane), bits});
      }
      if (poison.lanes() && !carried.origin)
        carried.origin = registers.rowOrigins[row];
    }
}

/// ds_bpermute, ds_permute and ds_swizzle.
void PoisonCheck::moveBetweenLanes(Wave &wave, const MemoryRequest &request, CarriedPoison &carried) {
  const Instruction &instruction = *request.instruction;
  const PoisonRegisters &registers = *stateOf(wave).registers;
  std::string_view name = instruction.mnemonic;
  bool isSwizzle = name == "ds_swizzle_b32", isForward = name == "ds_permute_b32";
  unsigned place = instruction.operands[1].index, data = isSwizzle ? place : instruction.operands[2].index;
  const PoisonRow &poison = registers.rows[data];
  uint64_t chosen = isSwizzle ? 0 : registers.rows[place].lanes() & request.lanes;
  if (!((poison.lanes() & request.lanes) | chosen))
    return;
  carried.origin = chosen ? registers.rowOrigins[place] : registers.rowOrigins[data];
  for (unsigned lane = 0; lane < waveLanes; ++lane) {
    unsigned other = isSwizzle ? swizzleSourceLane(instruction.immediate, lane)
                               : (wave.v[place][lane] + uint32_t(instruction.modifiers.offset)) / 4 % waveLanes;
    unsigned from = isForward ? lane : other, to = isForward ? other : lane;
    if (request.lanes >> from & 1)
      for (unsigned byte = 0; byte < 4; ++byte)
        carried.words[0].bytes[byte] |= (poison.bytes[byte] >> from & 1) << to;
  }
  for (uint64_t &lanes : carried.words[0].bytes)
    lanes |= chosen ? isForward ? allLanes : chosen : 0;
}

/// Whether any register that it reads may be poison.
bool PoisonCheck::mayCarry(Wave &wave, const MemoryRequest &request) {
  return plans.of(*request.instruction).sources.meets(stateOf(wave).registers->maybe);
}

void PoisonCheck::issued(Wave &wave, MemoryRequest &request) {
  bool moves = request.kind == RequestKind::Other && request.queues == MemoryRequest::Lds;
  if ((request.kind != RequestKind::Store && !moves) || !mayCarry(wave, request))
    return;
  CarriedPoison carried;
  carried.request = &request;
  moves ? moveBetweenLanes(wave, request, carried) : gather(wave, request, carried);
  if (carried.any())
    stateOf(wave).carried.push_back(carried);
}

void PoisonCheck::performed(Wave &wave, MemoryRequest &request) {
  if (request.space == Space::None)
    return;
  WaveState &state = stateOf(wave);
  PoisonMemory memory(system.home, *state.lds, state.scratch, isApart);
  bool isQuiet = request.space == Space::Global && !hasUnwrittenBuffers;
  CarriedPoison *stored = carriedBy(state, request);
  if (request.kind == RequestKind::Store) {
    if (isApart && stored && mayReachGlobal(request))
      throw Fault("stores what nothing has written, which needs its turn");
    if ((isQuiet && !stored) || (isApart && mayReachGlobal(request)))
      return;
    memory.write(wave, request, stored);
    hasUnwrittenBuffers |= stored && mayReachGlobal(request);
    if (memory.firstCopy)
      finishStore(wave, request, memory.firstCopy, stored->origin);
    return;
  }
  if (isQuiet)
    return;
  CarriedPoison carried;
  UnwrittenRead read = request.isScalar() ? memory.readScalars(request, carried) : memory.read(wave, request, carried);
  if (request.kind == RequestKind::Atomic) {
    bool isUsed = carried.any() && !isExchange(*request.instruction);
    if (isUsed) // once is enough
      reportChange(wave, request, originOf(wave, request, read), read.lane);
    if (!isApart || !mayReachGlobal(request))
      memory.write(wave, request, nullptr);
    if (isUsed)
      return;
  }
  if (!carried.any())
    return;
  carried.transpose(*request.instruction);
  carried.request = &request;
  carried.origin = originOf(wave, request, read);
  state.carried.push_back(carried);
}

void PoisonCheck::repeated(Wave &wave, const MemoryRequest &request) {
  PoisonBytes none;
  if (request.writesMemory() && hasUnwrittenBuffers)
    PoisonMemory(system.home, none, none).write(wave, request, nullptr);
}

/// What the other read-modify-writes leave, and whether they do anything, depends on what was there; only an exchange
/// may be the first to write a place.
void PoisonCheck::reportChange(Wave &wave, const MemoryRequest &request, PoisonOrigin origin, int lane) {
  ListedOrigin from = describe(origin);
  Site use = Site::of(wave, *request.instruction, lane);
  findings.report(Check::Uninitialised, use, from.site, [&] {
    Finding finding;
    finding.title = "what nothing has written is changed by an atomic operation";
    finding.lines = {findings.line("atomic", use, from.place)};
    return finding;
  });
}

void PoisonCheck::finishStore(Wave &wave, const MemoryRequest &request, Allocation *buffer, PoisonOrigin origin) {
  copied.try_emplace(buffer, origin);
  buffer->unwritten->firstStore = findings.line("store", Site::of(wave, *request.instruction), "");
}

void PoisonCheck::landVector(Wave &wave, const MemoryRequest &request, const CarriedPoison *carried) {
  PoisonRegisters &registers = *stateOf(wave).registers;
  if (!carried && !registers.maybe.has({true, true, request.destination, request.words}))
    return;
  const LoadForm &form = plans.of(*request.instruction).load;
  for (unsigned word = 0; word < request.words; ++word) {
    PoisonRow poison = carried ? carried->words[word] : PoisonRow();
    PoisonRow &row = registers.rows[request.destination + word];
    if (carried && request.bytes && request.bytes < 4 && form.extendsSign)
      for (unsigned byte = request.bytes; byte < 4; ++byte)
        poison.bytes[byte] = poison.bytes[request.bytes - 1];
    registers.forgetPartial(request.destination + word, request.lanes);
    unsigned first = form.keepsOther && form.isHigh ? 2 : 0, count = form.keepsOther ? 2 : 4;
    for (unsigned byte = 0; byte < count; ++byte) {
      uint64_t &lanes = row.bytes[first + byte];
      lanes = (lanes & ~request.lanes) | (poison.bytes[byte] & request.lanes);
    }
    registers.noteRow(request.destination + word);
    if (poison.lanes() & request.lanes)
      registers.rowOrigins[request.destination + word] = carried->origin;
  }
  if (carried && request.bytes >= 4)
    for (const PartialWord &part : carried->partial)
      if (part.word < request.words && request.lanes >> part.lane & 1)
        registers.notePartial(request.destination + part.word, part.lane, part.bits);
}

void PoisonCheck::landed(Wave &wave, MemoryRequest &request) {
  WaveState &state = stateOf(wave);
  CarriedPoison *carried = state.carried.empty() ? nullptr : carriedBy(state, request);
  if (request.kind == RequestKind::LoadToLds)
    PoisonMemory(system.home, *state.lds, state.scratch).writeLds(request, carried);
  else if (request.hasResult() && request.isScalar())
    for (unsigned word = 0; word < request.words; ++word) {
      unsigned index = (request.destination + word) & 127;
      state.registers->setScalar(index, carried ? carried->scalars[word] : 0);
      if (state.registers->scalars[index])
        state.registers->scalarOrigins[index] = carried->origin;
    }
  else if (request.hasResult())
    landVector(wave, request, carried);
  if (carried)
    state.carried.erase(state.carried.begin() + (carried - state.carried.data()));
}

//===-- Reports --------------------------------------------------------------------------------------------------===//

PoisonOrigin PoisonCheck::originOf(Wave &wave, const MemoryRequest &request, const UnwrittenRead &read) {
  if (read.isCopied) {
    auto known = copied.find(read.allocation);
    PoisonOrigin stored = read.bytes ? read.bytes->copied : known == copied.end() ? 0 : known->second;
    if (stored)
      return stored;
  }
  auto [place, isNew] =
      originsByLoad.try_emplace(request.instruction, firstListedOrigin + PoisonOrigin(origins.size()));
  if (!isNew)
    return place->second;
  if (isApart)
    throw Fault("reads what nothing has written, which needs its turn");
  const WaveState &state = stateOf(wave);
  std::string what = read.bytes == state.lds.get() ? fmt::format("LDS 0x{:x}", read.address)
                     : read.bytes                  ? fmt::format("scratch 0x{:x}", read.address)
                                                   : describePlace(*read.allocation, read.address);
  origins.push_back({Site::of(wave, *request.instruction, read.lane), what + ", which nothing has written"});
  return place->second;
}

PoisonCheck::ListedOrigin PoisonCheck::describe(PoisonOrigin origin) const {
  if (origin >= firstListedOrigin && origin - firstListedOrigin < origins.size())
    return origins[origin - firstListedOrigin];
  std::string name = origin == sccOrigin           ? "scc"
                     : origin >= firstScalarOrigin ? registerName(false, origin - firstScalarOrigin)
                     : origin >= firstRowOrigin    ? registerName(true, origin - firstRowOrigin)
                                                   : "a register";
  return {{}, name + ", which nothing has written since the wave began"};
}

ReportLine PoisonCheck::originLine(const ListedOrigin &origin) const {
  return origin.site.instruction ? findings.line("from", origin.site, origin.place) : "  from   " + origin.place;
}

void PoisonCheck::reached(Wave &wave, const Instruction &instruction, PoisonSink sink, PoisonOrigin origin, int lane) {
  static constexpr const char *titles[] = {
      "what nothing has written decides a branch",
      "what nothing has written is where a jump goes",
      "what nothing has written is an address",
      "what nothing has written is in a buffer descriptor",
      "what nothing has written becomes EXEC",
      "what nothing has written is in M0, which is read",
      "what nothing has written is stored where other waves look for it",
  };
  static constexpr const char *verbs[] = {"branch", "jump", "access", "access", "write", "read", "store"};
  ListedOrigin from = describe(origin);
  // wave.current, not a copy with other registers
  Site use = Site::of(wave, wave.current ? *wave.current : instruction, lane);
  findings.report(Check::Uninitialised, use, from.site, [&] {
    Finding finding;
    finding.title = titles[unsigned(sink)];
    finding.lines = {findings.line(verbs[unsigned(sink)], use, ""), originLine(from)};
    return finding;
  });
}

} // namespace heddle::simulator
