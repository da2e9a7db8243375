// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What follows what in machine code, by the names of instructions.
#pragma once
#include "simulator/state/Instruction.h"
#include <initializer_list>
#include <string_view>

namespace heddle::simulator {

inline bool startsWithAny(std::string_view text, std::initializer_list<std::string_view> prefixes) {
  for (std::string_view prefix : prefixes)
    if (text.starts_with(prefix))
      return true;
  return false;
}

inline bool loadsToLds(const Instruction &instruction) {
  return instruction.modifiers.lds || instruction.mnemonic.find("_load_lds_") != std::string::npos;
}

/// Whether anything but what stands after it may be next.
inline bool jumps(const Instruction &instruction) {
  return startsWithAny(instruction.mnemonic, {"s_branch", "s_cbranch_", "s_setpc", "s_swappc", "s_call", "s_rfe"});
}

} // namespace heddle::simulator
