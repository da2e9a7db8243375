// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Assembly text of a decoded instruction, made from its record.
#pragma once
#include "simulator/state/Instruction.h"

namespace heddle::simulator {

/// What LLVM's assembler reads as the instruction that the record describes. The encoding's suffix and constants are
/// those of the text that was decoded; so is all of an instruction that reads its operands from the encoding.
std::string assemblyText(const Instruction &instruction);

} // namespace heddle::simulator
