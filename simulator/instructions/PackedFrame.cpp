// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Chooses halves and signs by op_sel and neg modifiers, and puts the results together again.
#include "simulator/instructions/PackedFrame.h"

namespace heddle::simulator {

namespace {

void choosePart(const Wave &wave, const Operand &operand, DataType type, bool higher, bool negate, Row &part) {
  Row storage;
  bool words = type == DataType::F32;
  const uint32_t *row = readRow(wave, operand, words && higher ? 1 : 0, storage);
  unsigned shift = !words && higher ? 16 : 0;
  uint32_t mask = words ? ~0u : 0xFFFF, flipped = !negate ? 0 : words ? 0x80000000u : 0x8000u;
  if (words && !negate) {
    std::memcpy(part, row, sizeof(Row));
    return;
  }
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    part[lane] = (row[lane] >> shift & mask) ^ flipped;
}

} // namespace

void readParts(const Wave &wave, const Instruction &instruction, unsigned position, unsigned number, DataType type,
               Parts &parts) {
  const Modifiers &modifiers = instruction.modifiers;
  const Operand &operand = instruction.operands[position];
  choosePart(wave, operand, type, modifiers.opSel >> number & 1, modifiers.negLo >> number & 1, parts.low);
  choosePart(wave, operand, type, modifiers.opSelHi >> number & 1, modifiers.negHi >> number & 1, parts.high);
  if (!isFloat(type) || !hasUnusualMode(wave.mode))
    return;
  for (Row *row : {&parts.low, &parts.high}) {
    Rows changed;
    Source source{*row};
    applySourceMode(wave.mode, type, source, changed);
    if (source.low != *row)
      std::memcpy(*row, source.low, sizeof(Row));
  }
}

void writeParts(Wave &wave, const Instruction &instruction, DataType type, Parts &parts) {
  for (Row *row : {&parts.low, &parts.high}) {
    bool modified = instruction.modifiers.clamp || hasUnusualMode(wave.mode);
    if (!modified || !isFloat(type))
      continue;
    Rows changed;
    std::memcpy(changed.low, *row, sizeof(Row));
    if (hasUnusualMode(wave.mode))
      applyResultMode(wave.mode, type, changed);
    applyOutputModifiers(wave.mode, instruction.modifiers, type, changed);
    std::memcpy(*row, changed.low, sizeof(Row));
  }
  if (type == DataType::F32) {
    writeRow(wave, instruction.operands[0], 0, parts.low);
    writeRow(wave, instruction.operands[0], 1, parts.high);
    return;
  }
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    parts.low[lane] = (parts.low[lane] & 0xFFFF) | parts.high[lane] << 16;
  writeRow(wave, instruction.operands[0], 0, parts.low);
}

} // namespace heddle::simulator
