// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Source: AMD Instinct MI300 (CDNA3) Instruction Set Architecture, "Relative addressing".
#include "simulator/instructions/RelativeRegisters.h"
#include "simulator/instructions/InstructionTable.h"
#include "simulator/state/Fault.h"
#include <fmt/format.h>

namespace heddle::simulator {

Instruction withRelativeRegisters(const Wave &wave, const Instruction &instruction) {
  Instruction moved = instruction;
  if (!instruction.row || !instruction.mnemonic.starts_with("v_"))
    return moved;
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
  return moved;
}

} // namespace heddle::simulator
