// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The words after an instruction's operands: `offset:16 sc0 row_shr:1`.
#pragma once
#include "simulator/state/Instruction.h"
#include <string_view>

namespace heddle::simulator {

/// Whether the word's name, up to its colon, is that of a modifier.
bool isModifier(std::string_view word);

/// False for a name or a value that is unknown.
bool parseModifier(std::string_view word, Modifiers &modifiers);

} // namespace heddle::simulator
