// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Adds rows, refuses two of one mnemonic, and finds them by name.
#include "simulator/instructions/InstructionTable.h"
#include "support/Error.h"
#include <string>

namespace heddle::simulator {

void InstructionTable::add(const InstructionRow &row) {
  if (!(uint8_t(row.chips) & uint8_t(chip)))
    return;
  if (!rows.try_emplace(row.mnemonic, row).second)
    throw internalError("instruction `" + std::string(row.mnemonic) + "` has two rows");
}

const InstructionRow *InstructionTable::find(std::string_view mnemonic) const {
  auto found = rows.find(mnemonic);
  return found == rows.end() ? nullptr : &found->second;
}

bool hasLaneModifiers(const Instruction &instruction) {
  const Modifiers &modifiers = instruction.modifiers;
  if (modifiers.clamp || modifiers.outputModifier || modifiers.opSel || modifiers.hasOpSelHi || modifiers.negLo ||
      modifiers.negHi || modifiers.sdwa.present || modifiers.dpp.control != Dpp::Control::None)
    return true;
  for (unsigned i = 0; i < instruction.operandCount; ++i)
    if (const Operand &operand = instruction.operands[i]; operand.negate || operand.absolute || operand.signExtend)
      return true;
  return false;
}

} // namespace heddle::simulator
