// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which registers an instruction reads and writes: those of its text, and what its row calls implicit.
#pragma once
#include "simulator/instructions/InstructionTable.h"
#include <string>

namespace heddle::simulator {

/// Registers that follow each other, as the text names them. Scalar ones include SCC (sccRegister).
struct RegisterSpan {
  bool isVector = false, isWritten = false;
  uint16_t first = 0;
  uint8_t words = 1;
};

struct RegisterUse {
  /// Whose vector registers are read or written.
  enum class Lanes : uint8_t {
    Active,
    All,
    First,    ///< active one; v_readfirstlane
    Selected, ///< by the last operand; v_readlane, v_writelane
  };
  RegisterSpan spans[16];
  uint8_t count = 0;
  Lanes lanes = Lanes::Active;
  bool landsLater = false; ///< what it writes is written by a memory request, not when it executes

  const RegisterSpan *begin() const { return spans; }
  const RegisterSpan *end() const { return spans + count; }
};

RegisterUse registerUseOf(const Instruction &instruction);

/// The lanes whose vector registers `instruction` touches now.
uint64_t lanesOf(const RegisterUse &use, const Wave &wave, const Instruction &instruction);

/// How many operands of the text, from the left, are written. A returning atomic has one, a load to LDS none.
unsigned destinationsOf(const Instruction &instruction);

/// `v5`, `a5`, `s5`, `vcc_lo`.
std::string registerName(bool isVector, unsigned index);

} // namespace heddle::simulator
