// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sorts instructions by the rule that they follow once, and applies it to rows of lanes.
#include "simulator/checks/PoisonStep.h"
#include "simulator/instructions/LaneModifiers.h"
#include <algorithm>

namespace heddle::simulator {
namespace {

using Kind = PoisonPlan::Kind;

/// The bytes of a selection at the lowest place; what is above is 0, or the sign.
PoisonRow selected(const PoisonRow &row, Sdwa::Select select, bool extendsSign) {
  auto number = unsigned(select);
  if (select == Sdwa::Select::Dword)
    return row;
  PoisonRow part;
  unsigned count = select <= Sdwa::Select::Byte3 ? 1 : 2, first = count == 1 ? number : 2 * (number - 4);
  for (unsigned byte = 0; byte < 4; ++byte)
    part.bytes[byte] = byte < count ? row.bytes[first + byte] : extendsSign ? row.bytes[first + count - 1] : 0;
  return part;
}

Kind vectorKind(std::string_view name, uint16_t implicit) {
  if (name.starts_with("v_cmp"))
    return Kind::Compare;
  if (name == "v_pk_mov_b32")
    return Kind::PackedMove;
  if (name.starts_with("v_pk_"))
    return Kind::Packed;
  if (name.starts_with("v_fma_mix"))
    return Kind::Mixed;
  if (name.starts_with("v_mfma_") || name.starts_with("v_smfmac_"))
    return Kind::Matrix;
  if (name == "v_swap_b32" || name.starts_with("v_permlane"))
    return Kind::Swap;
  if (name == "v_readfirstlane_b32" || name == "v_readlane_b32")
    return Kind::ReadLane;
  return name == "v_writelane_b32" ? Kind::WriteLane : Kind::Vector;
}

Kind scalarKind(std::string_view name) {
  if (isScalarMemory(name))
    return Kind::ScalarMemory;
  if (name.starts_with("s_cbranch_"))
    return Kind::Branch;
  if (name == "s_setpc_b64" || name == "s_swappc_b64")
    return Kind::Jump;
  if (name.find("_saveexec_") != std::string_view::npos || name.find("_wrexec_") != std::string_view::npos)
    return Kind::SaveExec;
  if (name.starts_with("s_set_gpr_idx_"))
    return Kind::Index;
  return Kind::Scalar;
}

/// Whether it gives each active lane of its destination a whole new value, or is a scalar instruction.
bool isOverwriting(const Instruction &instruction, Kind kind) {
  const Modifiers &modifiers = instruction.modifiers;
  if (kind == Kind::Scalar)
    return true;
  return kind == Kind::Vector && instruction.operands[0].isVector() && !isHalfWide(instruction.row->types[0]) &&
         !modifiers.sdwa.present && modifiers.dpp.control == Dpp::Control::None &&
         !(instruction.row->implicit & placesByte);
}

/// Of an instruction on pairs of words: compilers give it one good word of a source and name it twice.
RegisterSet packedRegisters(const Instruction &instruction) {
  RegisterSet registers;
  const Modifiers &modifiers = instruction.modifiers;
  for (unsigned i = 0; i < instruction.operandCount; ++i) {
    const Operand &operand = instruction.operands[i];
    if (!operand.isVector() && operand.kind != Operand::Kind::Scalar)
      continue;
    for (unsigned part = 0; part < 2; ++part) {
      bool higher = i == 0 ? part : (part ? modifiers.opSelHi : modifiers.opSel) >> (i - 1) & 1;
      unsigned word = higher && operand.words > 1;
      registers.add({operand.isVector(), false, uint16_t(operand.index + word), 1});
    }
  }
  return registers;
}

} // namespace

LoadForm::LoadForm(std::string_view name)
    : extendsSign(name.find("_sbyte") != name.npos || name.find("_sshort") != name.npos ||
                  name.find("_i8") != name.npos || name.find("_i16") != name.npos),
      keepsOther(name.find("_d16") != name.npos), isHigh(name.ends_with("_d16_hi")) {}

PoisonPlan poisonPlanOf(const Instruction &instruction) {
  PoisonPlan plan;
  const InstructionRow *row = instruction.row;
  if (!row)
    return plan;
  std::string_view name = instruction.mnemonic;
  plan.destinations = uint8_t(destinationsOf(instruction));
  if (!instruction.modifiers.clamp)
    plan.rule = poisonRuleOf(name);
  for (std::string_view prefix : {"s_add", "s_sub", "s_lshl1_add", "s_lshl2_add", "s_lshl3_add", "s_lshl4_add"})
    plan.carries |= name.starts_with(prefix);
  if (name.starts_with("v_"))
    plan.kind = vectorKind(name, row->implicit);
  else if (name.starts_with("s_"))
    plan.kind = scalarKind(name);
  else
    plan.kind = name.starts_with("ds_") ? Kind::LocalMemory : Kind::VectorMemory;
  bool isPlainControl = row->implicit & acceptsAnything && plan.kind == Kind::Scalar;
  if (isPlainControl)
    plan.kind = Kind::Nothing;
  plan.staysClean = plan.kind != Kind::Index; // which clears M0, that it does not name
  plan.load = LoadForm(name);
  plan.overwrites = isOverwriting(instruction, plan.kind);
  RegisterUse use = registerUseOf(instruction);
  RegisterSet sources, named;
  for (const RegisterSpan &span : use)
    (span.isWritten ? named : sources).add(span);
  plan.sources = plan.registers = RegisterMask(sources);
  plan.readsScc = sources.words[RegisterSet::sccWord];
  plan.namesScc = plan.readsScc || named.words[RegisterSet::sccWord];
  bool isMemory = plan.kind == Kind::ScalarMemory || plan.kind == Kind::VectorMemory || plan.kind == Kind::LocalMemory;
  if (plan.kind == Kind::Packed && row->types[0] == DataType::F32)
    plan.registers = RegisterMask(packedRegisters(instruction));
  else if (!isMemory) // whose results are written when they land
    plan.registers = use.all;
  bool readsCarry = name == "v_addc_co_u32" || name == "v_subb_co_u32" || name == "v_subbrev_co_u32";
  if (name == "v_cndmask_b32" || readsCarry)
    plan.mask = int8_t(plan.destinations + 2);
  else if (row->implicit & readsVcc && plan.kind == Kind::Vector)
    plan.mask = int8_t(instruction.operandCount);
  return plan;
}

PoisonOfScc PoisonStep::run() {
  switch (plan.kind) {
  case Kind::Nothing:
    break;
  case Kind::Scalar:
    return scalar();
  case Kind::Vector:
    vector();
    break;
  case Kind::Compare:
    compare();
    break;
  case Kind::Packed:
    packed();
    break;
  case Kind::Mixed:
    mixed();
    break;
  case Kind::PackedMove:
    packedMove();
    break;
  case Kind::Matrix:
    matrix();
    break;
  case Kind::Swap:
    swap();
    break;
  case Kind::ReadLane:
    readLane();
    break;
  case Kind::WriteLane:
    writeLane();
    break;
  case Kind::SaveExec:
    saveExec();
    break;
  case Kind::Branch:
    branch();
    break;
  case Kind::Jump:
    jump();
    break;
  case Kind::Index:
    setIndex();
    break;
  case Kind::ScalarMemory:
    checkScalarMemory();
    break;
  case Kind::VectorMemory:
    checkVectorMemory();
    break;
  case Kind::LocalMemory:
    checkLocalMemory();
    break;
  }
  return {};
}

//===-- Sources --------------------------------------------------------------------------------------------------===//

void PoisonStep::noteOrigin(const Operand &operand, unsigned word) {
  if (origin)
    return;
  if (operand.isVector())
    origin = registers.rowOrigins[operand.index + word];
  else if (operand.index < 128)
    origin = registers.scalarOrigins[operand.index + word];
  else
    origin = registers.sccFrom;
}

/// One or two words, as the text says.
uint64_t PoisonStep::scalarBits(const Operand &operand) {
  if (operand.kind != Operand::Kind::Scalar)
    return 0;
  uint64_t bits = 0;
  if (operand.index == sccRegister)
    bits = registers.scc;
  else if (operand.index == vcczRegister)
    bits = registers.scalar64(vccRegister) && !(wave.vcc() & ~registers.scalar64(vccRegister));
  else if (operand.index < 128)
    bits = operand.words > 1 ? registers.scalar64(operand.index) : registers.scalars[operand.index];
  if (bits)
    noteOrigin(operand, uint32_t(bits) || operand.index > 127 ? 0 : 1);
  return bits;
}

PoisonRow PoisonStep::rowOf(const Operand &operand, unsigned word) {
  PoisonRow row;
  if (operand.isVector())
    row = registers.rows[operand.index + word];
  else if (operand.kind == Operand::Kind::Scalar && operand.index + word < 128)
    row = PoisonRow::ofBits(registers.scalars[operand.index + word]);
  return row;
}

void PoisonStep::moveByDpp(PoisonRow &row) const {
  const Dpp &dpp = instruction.modifiers.dpp;
  if (dpp.control == Dpp::Control::None || !row.lanes())
    return;
  PoisonRow moved;
  uint64_t active = wave.exec();
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    if (int from = dppSourceLane(dpp, lane); from >= 0 && active >> from & 1)
      for (unsigned byte = 0; byte < 4; ++byte)
        moved.bytes[byte] |= (row.bytes[byte] >> from & 1) << lane;
  row = moved;
}

/// Source `number`, at `position` of the text, as the lane function reads it.
PoisonStep::Source PoisonStep::vectorSource(unsigned position, unsigned number) {
  const Operand &operand = instruction.operands[position];
  const Modifiers &modifiers = instruction.modifiers;
  Source source;
  if (operand.kind == Operand::Kind::Constant || operand.kind == Operand::Kind::Off)
    return source;
  DataType type = instruction.row->types[position];
  uint16_t implicit = instruction.row->implicit;
  source.low = rowOf(operand, 0);
  if (operand.words > 1)
    source.high = rowOf(operand, 1);
  if (number == 0) {
    moveByDpp(source.low);
    moveByDpp(source.high);
  }
  if (modifiers.sdwa.present && number < 2)
    source.low = selected(source.low, number ? modifiers.sdwa.source1 : modifiers.sdwa.source0, operand.signExtend);
  if (isHalfWide(type))
    source.low = source.low.half(modifiers.opSel >> number & 1);
  else if (number == 0 && implicit & selectsByte)
    source.low = {{source.low.bytes[modifiers.opSel & 3], 0, 0, 0}};
  uint64_t active = instruction.modifiers.dpp.control == Dpp::Control::None ? wave.exec() : allLanes;
  source.lanes = source.low.lanes() | source.high.lanes();
  for (unsigned word = 2; word < operand.words; ++word)
    source.lanes |= rowOf(operand, word).lanes();
  if (source.lanes & active)
    noteOrigin(operand, source.low.lanes() & active ? 0 : std::min(1, operand.words - 1));
  return source;
}

/// The source that is a bit for each lane.
uint64_t PoisonStep::maskSource() {
  if (plan.mask < 0)
    return 0;
  Operand vcc;
  vcc.kind = Operand::Kind::Scalar;
  vcc.index = vccRegister;
  vcc.words = 2;
  return scalarBits(plan.mask < instruction.operandCount ? instruction.operands[plan.mask] : vcc);
}

PoisonBits PoisonStep::valueOf(const Operand &operand, uint64_t poison) const {
  return {poison, operand.words > 1 ? readUniform64(wave, operand) : readUniform32(wave, operand)};
}

//===-- Results --------------------------------------------------------------------------------------------------===//

uint64_t PoisonStep::writtenLanes() const {
  const Dpp &dpp = instruction.modifiers.dpp;
  return dpp.control == Dpp::Control::None ? wave.exec() : wave.exec() & dppLanes(dpp, wave.exec());
}

void PoisonStep::writeScalar(const Operand &operand, uint64_t bits) {
  if (operand.kind != Operand::Kind::Scalar || operand.index > 127)
    return;
  for (unsigned word = 0; word < std::min<unsigned>(operand.words, 2); ++word) {
    unsigned index = operand.index + word;
    auto part = uint32_t(bits >> (32 * word));
    if (index >= execRegister && part) {
      sink(PoisonSink::Exec);
      part = 0;
    }
    registers.setScalar(index & 127, part);
    if (part)
      registers.scalarOrigins[index & 127] = origin;
  }
}

void PoisonStep::writeRow(unsigned row, const PoisonRow &poison, uint64_t lanes) {
  registers.forgetPartial(row, lanes);
  PoisonRow &target = registers.rows[row];
  for (unsigned byte = 0; byte < 4; ++byte)
    target.bytes[byte] = (target.bytes[byte] & ~lanes) | (poison.bytes[byte] & lanes);
  registers.noteRow(row);
  if (poison.lanes() & lanes)
    registers.rowOrigins[row] = origin;
}

/// A result at the bytes of the destination where it goes.
PoisonRow PoisonStep::placed(PoisonRow result, const PoisonRow &old) const {
  const Modifiers &modifiers = instruction.modifiers;
  uint16_t implicit = instruction.row->implicit;
  unsigned sources = instruction.operandCount - plan.destinations;
  if (modifiers.sdwa.present && modifiers.sdwa.destination != Sdwa::Select::Dword) {
    auto number = unsigned(modifiers.sdwa.destination);
    unsigned count = number < 4 ? 1 : 2, first = count == 1 ? number : 2 * (number - 4);
    PoisonRow all = modifiers.sdwa.unused == Sdwa::Unused::Preserve ? old : PoisonRow();
    for (unsigned byte = 0; byte < count; ++byte)
      all.bytes[first + byte] = result.bytes[byte];
    if (modifiers.sdwa.unused == Sdwa::Unused::SignExtend)
      for (unsigned byte = first + count; byte < 4; ++byte)
        all.bytes[byte] = result.bytes[count - 1];
    return all;
  }
  if (implicit & placesByte) {
    PoisonRow all = old;
    all.bytes[modifiers.opSel >> 2 & 3] = result.bytes[0];
    return all;
  }
  if (!isHalfWide(instruction.row->types[0]) || modifiers.sdwa.present)
    return result;
  if (modifiers.opSel >> sources & 1)
    return {{old.bytes[0], old.bytes[1], result.bytes[0], result.bytes[1]}};
  if (implicit & keepsHighHalf)
    return {{result.bytes[0], result.bytes[1], old.bytes[2], old.bytes[3]}};
  return {{result.bytes[0], result.bytes[1], 0, 0}};
}

/// Of a result of one or two words; words beyond are as the second.
void PoisonStep::writeResult(const PoisonRow &low, const PoisonRow &high) {
  const Operand &destination = instruction.operands[0];
  uint64_t lanes = writtenLanes();
  if (!destination.isVector())
    return;
  writeRow(destination.index, placed(low, registers.rows[destination.index]), lanes);
  for (unsigned word = 1; word < destination.words; ++word)
    writeRow(destination.index + word, high, lanes);
  bool isWhole = !isHalfWide(instruction.row->types[0]) && !hasLaneModifiers(instruction);
  for (const PartialWord &part : partial)
    if (isWhole && part.word < destination.words)
      registers.notePartial(destination.index + part.word, part.lane, part.bits);
}

//===-- Scalar instructions --------------------------------------------------------------------------------------===//

PoisonOfScc PoisonStep::scalar() {
  PoisonBits sources[mostRuleSources];
  unsigned count = 0;
  uint64_t any = 0;
  uint16_t implicit = instruction.row->implicit;
  for (unsigned i = 0; i < instruction.operandCount && count < mostRuleSources; ++i) {
    if (i < plan.destinations && !(implicit & readsDestination))
      continue;
    const Operand &operand = instruction.operands[i];
    uint64_t poison = scalarBits(operand);
    any |= poison;
    if (plan.rule)
      sources[count] =
          operand.kind == Operand::Kind::Constant ? PoisonBits{0, operand.constant} : valueOf(operand, poison);
    ++count;
  }
  if (implicit & readsScc) {
    if (registers.scc && !origin)
      origin = registers.sccFrom;
    any |= registers.scc;
    if (count < mostRuleSources)
      sources[mostRuleSources - 1] = {registers.scc, wave.scc};
  }
  uint64_t bits = !any ? 0 : plan.rule ? plan.rule(sources) : ~uint64_t(0);
  PoisonOfScc scc;
  scc.isWritten = implicit & writesScc;
  scc.bits = any && plan.carries ? ~uint64_t(0) : bits;
  for (unsigned i = 0; i < plan.destinations; ++i)
    writeScalar(instruction.operands[i], bits);
  if (plan.destinations) {
    scc.destination = instruction.operands[0].index;
    scc.is64 = instruction.operands[0].words > 1;
  }
  if (scc.isWritten && origin)
    registers.sccFrom = origin;
  return scc;
}

void PoisonStep::saveExec() {
  const Operand &operand = instruction.operands[1];
  uint64_t poison = scalarBits(operand);
  PoisonBits sources[mostRuleSources] = {valueOf(operand, poison), {0, wave.exec()}, {}};
  if (poison && plan.rule && plan.rule(sources))
    sink(PoisonSink::Exec);
  writeScalar(instruction.operands[0], 0); // EXEC as it was, or as it is now
  registers.scc = false;
}

void PoisonStep::branch() {
  uint16_t implicit = instruction.row->implicit;
  if (implicit & readsScc && registers.scc) {
    origin = registers.sccFrom;
    sink(PoisonSink::Branch);
    registers.scc = false;
  }
  if (!(implicit & readsVcc))
    return;
  uint64_t poison = registers.scalar64(vccRegister);
  if (poison && !(wave.vcc() & ~poison)) { // a bit that is known to be set settles it
    origin = registers.scalarOrigins[vccRegister + !uint32_t(poison)];
    sink(PoisonSink::Branch);
    registers.scalars[vccRegister] = registers.scalars[vccRegister + 1] = 0;
  }
}

void PoisonStep::jump() {
  const Operand &target = instruction.operands[plan.destinations];
  if (scalarBits(target))
    sink(PoisonSink::Jump);
  if (plan.destinations)
    writeScalar(instruction.operands[0], 0);
}

void PoisonStep::setIndex() {
  uint32_t m0 = registers.scalars[m0Register];
  auto bits = uint32_t(scalarBits(instruction.operands[0]));
  if (instruction.mnemonic == "s_set_gpr_idx_mode")
    m0 &= ~0xf000u;
  else if (instruction.mnemonic == "s_set_gpr_idx_on")
    m0 = (m0 & ~0xf0ffu) | (bits & 255);
  else if (instruction.mnemonic == "s_set_gpr_idx_idx")
    m0 = (m0 & ~255u) | (bits & 255);
  registers.setScalar(m0Register, m0);
  if (bits)
    registers.scalarOrigins[m0Register] = origin;
}

} // namespace heddle::simulator
