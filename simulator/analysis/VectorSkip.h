// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where vector instructions may be skipped because s_setvskip, or s_setreg on MODE, may have set VSKIP. Source: AMD
// Instinct MI300 (CDNA3) Instruction Set Architecture, "S_SETVSKIP" and "Mode Register" (bit 28).
#pragma once
#include "simulator/analysis/MachineCode.h"

namespace heddle::simulator {

/// By instruction: whether VSKIP may be set when it executes.
std::vector<bool> findVectorSkips(const MachineCode &code);

} // namespace heddle::simulator
