// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Formats registers: which of them an instruction reads and writes, by name, with the values of a few lanes.
#include "api/SimulatedStop.h"
#include "simulator/instructions/InstructionTable.h"
#include "simulator/state/Workgroup.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle {
namespace {

using namespace simulator;

constexpr unsigned shownLanes = 4;

std::string nameOfScalars(unsigned index, unsigned words) {
  switch (index) {
  case vccRegister:
    return words == 1 ? "vcc_lo" : "vcc";
  case vccRegister + 1:
    return "vcc_hi";
  case m0Register:
    return "m0";
  case execRegister:
    return words == 1 ? "exec_lo" : "exec";
  case execRegister + 1:
    return "exec_hi";
  case vcczRegister:
    return "vccz";
  case execzRegister:
    return "execz";
  case sccRegister:
    return "scc";
  default:
    return words == 1 ? fmt::format("s{}", index) : fmt::format("s[{}:{}]", index, index + words - 1);
  }
}

std::string describeScalars(const Wave &wave, unsigned index, unsigned words) {
  std::vector<std::string> values;
  if (index >= std::size(wave.s))
    values.push_back(fmt::format("{}", readSpecial(wave, index)));
  else if (words == 2)
    values.push_back(fmt::format("0x{:x}", wave.scalar64(index)));
  else
    for (unsigned i = 0; i < words && index + i < std::size(wave.s); ++i)
      values.push_back(fmt::format("0x{:x}", wave.s[index + i]));
  return fmt::format("{} = {}", nameOfScalars(index, words), fmt::join(values, " "));
}

std::string nameOfRows(unsigned index, unsigned words) {
  char letter = index < firstAccumulationRow ? 'v' : 'a';
  unsigned first = index % firstAccumulationRow;
  return words == 1 ? fmt::format("{}{}", letter, first) : fmt::format("{}[{}:{}]", letter, first, first + words - 1);
}

/// The first active lanes of registers, each lane's words from the highest to the lowest.
std::string describeRows(const Wave &wave, unsigned index, unsigned words) {
  std::vector<std::string> values;
  uint64_t lanes = wave.exec() ? wave.exec() : allLanes;
  unsigned active = unsigned(__builtin_popcountll(lanes));
  for (unsigned lane = 0; lane < waveLanes && values.size() < shownLanes; ++lane) {
    if (!(lanes >> lane & 1))
      continue;
    std::string value;
    for (unsigned word = words; word-- > 0;)
      value += fmt::format("{:08x}", wave.v[index + word][lane]);
    values.push_back(fmt::format("{}: 0x{}", lane, value));
  }
  return fmt::format("{} = {}{}", nameOfRows(index, words), fmt::join(values, ", "),
                     active > shownLanes ? fmt::format(", ... ({} active lanes)", active) : "");
}

std::string describeOperand(const Wave &wave, const Operand &operand) {
  if (operand.kind == Operand::Kind::Vector)
    return describeRows(wave, operand.index, operand.words);
  return describeScalars(wave, operand.index, operand.words);
}

bool isRegister(const Operand &operand) {
  return operand.kind == Operand::Kind::Vector || operand.kind == Operand::Kind::Scalar;
}

unsigned destinationsOf(const Instruction &instruction) {
  return instruction.row ? std::min<unsigned>(instruction.row->destinations, instruction.operandCount) : 0;
}

void addImplicit(const Wave &wave, const Instruction &instruction, uint16_t scc, uint16_t vcc, const char *verb,
                 std::vector<std::string> &lines) {
  uint16_t implicit = instruction.row ? instruction.row->implicit : uint16_t(0);
  if (implicit & scc)
    lines.push_back(fmt::format("{}  {}", verb, describeScalars(wave, sccRegister, 1)));
  if (implicit & vcc)
    lines.push_back(fmt::format("{}  {}", verb, describeScalars(wave, vccRegister, 2)));
}

} // namespace

std::string describeStep(const Wave &wave, const Instruction &instruction, uint64_t pc, bool severalDevices) {
  const Workgroup &group = *wave.workgroup;
  return fmt::format("{}{},{},{} wave {}  0x{:x}  {}", severalDevices ? fmt::format("device {} ", group.device) : "",
                     group.id[0], group.id[1], group.id[2], wave.indexInGroup, pc, instruction.text);
}

std::vector<std::string> WaveStop::written() const {
  std::vector<std::string> lines;
  if (!last)
    return lines;
  for (unsigned i = 0; i < destinationsOf(*last); ++i)
    if (isRegister(last->operands[i]))
      lines.push_back("wrote  " + describeOperand(wave, last->operands[i]));
  addImplicit(wave, *last, writesScc, writesVcc, "wrote", lines);
  if (last->row && last->row->implicit & writesExec)
    lines.push_back("wrote  " + describeScalars(wave, execRegister, 2));
  return lines;
}

std::vector<std::string> WaveStop::operands() const {
  std::vector<std::string> lines;
  unsigned destinations = destinationsOf(instruction);
  uint16_t implicit = instruction.row ? instruction.row->implicit : uint16_t(0);
  for (unsigned i = 0; i < instruction.operandCount; ++i)
    if (isRegister(instruction.operands[i]) && (i >= destinations || implicit & readsDestination))
      lines.push_back("reads  " + describeOperand(wave, instruction.operands[i]));
  addImplicit(wave, instruction, readsScc, readsVcc, "reads", lines);
  if (implicit & readsM0)
    lines.push_back("reads  " + describeScalars(wave, m0Register, 1));
  for (unsigned i = 0; i < destinations; ++i)
    if (isRegister(instruction.operands[i]))
      lines.push_back("writes " + describeOperand(wave, instruction.operands[i]));
  return lines;
}

std::string WaveStop::vectorRegister(unsigned number) const {
  if (number >= firstAccumulationRow)
    throw inputError(fmt::format("there is no v{}: vector registers are v0 to v{}", number, firstAccumulationRow - 1));
  std::string text = fmt::format("v{}, exec 0x{:x}", number, wave.exec());
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    text += fmt::format("{}{:08x}", lane % 8 ? " " : fmt::format("\n  {:2}  ", lane), wave.v[number][lane]);
  return text;
}

std::string WaveStop::scalarRegister(unsigned number) const {
  if (number >= std::size(wave.s))
    throw inputError(fmt::format("there is no s{}: scalar registers are s0 to s{}", number, std::size(wave.s) - 1));
  return describeScalars(wave, number, 1);
}

} // namespace heddle
