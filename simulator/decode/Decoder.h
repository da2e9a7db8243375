// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bytes to decoded instructions: LLVM prints, the parser reads the print, the table says what to execute.
#pragma once
#include "simulator/decode/Disassembler.h"
#include "simulator/instructions/InstructionTable.h"
#include "simulator/state/Instruction.h"
#include <string>
#include <vector>

namespace heddle::simulator {

class Decoder {
public:
  /// `chip`: the processor of a simulated chip (chips/Chip.h), `gfx942`. Throws Error{Internal} for another.
  explicit Decoder(const std::string &chip);

  /// The instruction at the start of `bytes`. What is no instruction, has no row or cannot be parsed becomes a record
  /// of 4 bytes or its own size whose execution throws a Fault: code that is never reached does no harm.
  Instruction decode(std::span<const uint8_t> bytes, uint64_t pc);
  /// Whether the simulator has what it was decoded to.
  static bool isKnown(const Instruction &instruction);

  /// The mnemonics that have a row, in alphabetical order.
  std::vector<std::string> mnemonics() const;

private:
  Disassembler disassembler;
  const InstructionTable &table;
};

} // namespace heddle::simulator
