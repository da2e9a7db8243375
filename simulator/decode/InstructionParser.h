// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From an instruction's printed text to its record. The grammar is LLVM's AMDGPU operand and modifier syntax.
#pragma once
#include "simulator/state/Instruction.h"
#include <string_view>

namespace heddle::simulator {

/// The mnemonic without the suffix that only names the encoding: `v_add_f32` of `v_add_f32_e32 v0, v1, v2`.
std::string_view mnemonicOf(std::string_view text);

/// Fills operands and modifiers from `instruction.text`, constants as `instruction.row` types them (32 bits without a
/// row). Returns what it could not read, or nothing.
std::string parseOperands(Instruction &instruction);

} // namespace heddle::simulator
