// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which registers an instruction reads and writes: those of its text, and what its row calls implicit.
#pragma once
#include "simulator/instructions/InstructionTable.h"
#include <algorithm>
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
  static constexpr unsigned firstScalarWord = 8, sccWord = 10, wordCount = 11;
  uint64_t words[wordCount] = {}; ///< of vector registers, scalar ones, and SCC

  static unsigned wordOf(bool isVector, unsigned index) { return (isVector ? 0 : firstScalarWord) + index / 64; }
  /// Leaves SCC as it is.
  void addAll() { std::fill(words, words + sccWord, ~uint64_t(0)); }
  void set(bool isVector, unsigned index, bool value) {
    uint64_t &word = words[wordOf(isVector, index)], bit = uint64_t(1) << index % 64;
    word = (word & ~bit) | (value ? bit : 0);
  }
  void add(const RegisterSpan &span) {
    forEach(span, [&](unsigned index) { set(span.isVector, index, true); });
    words[sccWord] |= !span.isVector && span.first == sccRegister;
  }
  bool has(const RegisterSpan &span) const { ///< any of them
    bool any = false;
    forEach(span, [&](unsigned index) { any |= words[wordOf(span.isVector, index)] >> index % 64 & 1; });
    return any;
  }

private:
  template <typename Action>
  static void forEach(const RegisterSpan &span, Action action) {
    unsigned limit = span.isVector ? 512 : 128;
    for (unsigned index = span.first; index < unsigned(span.first + span.words) && index < limit; ++index)
      action(index);
  }
};

/// The few registers of an instruction, to be asked for in larger sets.
class RegisterMask {
public:
  RegisterMask() = default;
  explicit RegisterMask(const RegisterSet &set) {
    for (uint8_t word = 0; word < RegisterSet::wordCount; ++word)
      if (set.words[word])
        places[count++] = {set.words[word], word};
  }
  /// Calls `action(word, bits)` for each word of a set that has any of them.
  template <typename Action>
  void forWords(Action action) const {
    for (unsigned i = 0; i < count; ++i)
      action(places[i].word, places[i].bits);
  }
  bool meets(const RegisterSet &set) const {
    uint64_t both = 0;
    for (unsigned i = 0; i < count; ++i)
      both |= places[i].bits & set.words[places[i].word];
    return both;
  }

private:
  struct Place {
    uint64_t bits;
    uint8_t word;
  };
  Place places[RegisterSet::wordCount];
  uint8_t count = 0;
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
  RegisterMask all; ///< of the spans
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
