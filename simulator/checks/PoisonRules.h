// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which bits of a result are poison when bits of the sources are, for instructions that do not just mix all bits of all
// sources. One lane, or one scalar.
#pragma once
#include <cstdint>
#include <string_view>

namespace heddle::simulator {

inline constexpr unsigned mostRuleSources = 3;

/// A source: its poison and its value, whose poison bits mean nothing.
struct PoisonBits {
  uint64_t poison = 0, value = 0;
};
using PoisonRule = uint64_t (*)(const PoisonBits (&sources)[mostRuleSources]);

/// Null for what mixes all bits: the result is poison if anything is.
PoisonRule poisonRuleOf(std::string_view mnemonic);

/// Of a function of three bits with this truth table, whose index has the first source's bit highest.
uint64_t poisonOfTable(uint8_t table, const PoisonBits &a, const PoisonBits &b, const PoisonBits &c);

} // namespace heddle::simulator
