// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Puts disassembler, parser and table together; what one of them does not know becomes a fault when it is reached.
#include "simulator/decode/Decoder.h"
#include "chips/Chip.h"
#include "simulator/decode/InstructionParser.h"
#include "simulator/instructions/InstructionTable.h"
#include "simulator/state/Fault.h"
#include "support/Error.h"
#include <algorithm>
#include <cstring>

namespace heddle::simulator {
namespace {

void executeNoInstruction(Wave &, const Instruction &) {
  throw Fault("these bytes are no instruction");
}

void executeUnknown(Wave &, const Instruction &instruction) {
  throw Fault("the simulator does not know the instruction `" + instruction.mnemonic + "`");
}

void executeUnreadable(Wave &, const Instruction &instruction) {
  Instruction again;
  again.text = instruction.text;
  again.row = instruction.row;
  throw Fault("the simulator cannot read " + parseOperands(again));
}

void executeUnmodifiable(Wave &, const Instruction &instruction) {
  throw Fault("the simulator does not know `" + instruction.mnemonic + "` with these modifiers");
}

Execute chooseExecute(const Instruction &instruction) {
  if (!hasLaneModifiers(instruction))
    return instruction.row->execute;
  return instruction.row->modified ? instruction.row->modified : executeUnmodifiable;
}

const InstructionTable &tableOf(const std::string &processor) {
  const Chip *chip = findSimulated(processor);
  if (!chip)
    throw internalError("no instructions of " + processor);
  return instructionsOf(chip->simulated == InstructionSet::Cdna4 ? ChipSet::Gfx950 : ChipSet::Gfx942);
}

} // namespace

Decoder::Decoder(const std::string &chip) : disassembler(chip), table(tableOf(chip)) {}

bool Decoder::isKnown(const Instruction &instruction) {
  Execute execute = instruction.execute;
  return execute != executeNoInstruction && execute != executeUnknown && execute != executeUnreadable &&
         execute != executeUnmodifiable;
}

Instruction Decoder::decode(std::span<const uint8_t> bytes, uint64_t pc) {
  Instruction instruction;
  instruction.pc = pc;
  std::memcpy(&instruction.encoding, bytes.data(), std::min<size_t>(bytes.size(), 8));
  instruction.immediate = uint16_t(instruction.encoding);
  Disassembler::Printed printed = disassembler.print(bytes);
  instruction.sizeBytes = std::max(printed.sizeBytes, 4u);
  instruction.text = printed.text;
  if (printed.sizeBytes == 0) {
    char text[32];
    std::snprintf(text, sizeof text, ".long 0x%08x", uint32_t(instruction.encoding));
    instruction.text = text;
    instruction.execute = executeNoInstruction;
    return instruction;
  }
  instruction.mnemonic = mnemonicOf(instruction.text);
  instruction.row = table.find(instruction.mnemonic);
  std::string problem = parseOperands(instruction);
  if (!instruction.row)
    instruction.execute = executeUnknown;
  else if (instruction.row->implicit & acceptsAnything)
    instruction.execute = instruction.row->execute;
  else
    instruction.execute = problem.empty() ? chooseExecute(instruction) : executeUnreadable;
  return instruction;
}

std::vector<std::string> Decoder::mnemonics() const {
  std::vector<std::string> names;
  for (const auto &[name, row] : table)
    names.emplace_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

} // namespace heddle::simulator
