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

/// A set of registers, vector and scalar ones and SCC, as bits.
struct RegisterSet {
  uint64_t rows[8] = {}, scalars[2] = {}, scc = 0;

  void add(const RegisterSpan &span) {
    uint64_t *bits = span.isVector ? rows : scalars;
    unsigned limit = span.isVector ? 512 : 128;
    for (unsigned index = span.first; index < unsigned(span.first + span.words) && index < limit; ++index)
      bits[index / 64] |= uint64_t(1) << index % 64;
    scc |= !span.isVector && span.first == sccRegister;
  }
  bool has(const RegisterSpan &span) const { ///< any of them
    const uint64_t *bits = span.isVector ? rows : scalars;
    unsigned limit = span.isVector ? 512 : 128;
    for (unsigned index = span.first; index < unsigned(span.first + span.words) && index < limit; ++index)
      if (bits[index / 64] >> index % 64 & 1)
        return true;
    return false;
  }
  bool meets(const RegisterSet &other) const {
    uint64_t both = (scalars[0] & other.scalars[0]) | (scalars[1] & other.scalars[1]) | (scc & other.scc);
    for (unsigned i = 0; i < std::size(rows); ++i)
      both |= rows[i] & other.rows[i];
    return both;
  }
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
  RegisterSet all; ///< of the spans
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
