// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What s_getreg and s_setreg reach. Source: AMD Instinct MI300 (CDNA3) Instruction Set Architecture, "Hardware
// registers".
#pragma once
#include "simulator/state/Wave.h"

namespace heddle::simulator {

/// Throws Fault for a register that the simulator does not have.
uint32_t readHardwareRegister(const Wave &wave, unsigned id);
void writeHardwareRegister(Wave &wave, unsigned id, uint32_t value);

/// What an instruction does to VSKIP, as far as its constants say.
enum class SkipEffect : uint8_t { None, MaySet, Clears };
SkipEffect skipEffectOf(const Instruction &instruction);

} // namespace heddle::simulator
