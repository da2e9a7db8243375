// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What s_getreg and s_setreg reach. Source: AMD Instinct MI300 (CDNA3) Instruction Set Architecture, "Hardware
// registers".
#pragma once
#include "simulator/state/Wave.h"

namespace heddle::simulator {

/// Throws Fault for a register that the simulator does not have.
uint32_t readHardwareRegister(const Wave &wave, unsigned id);
void writeHardwareRegister(Wave &wave, unsigned id, uint32_t value);

/// Round to nearest even and keep denormals, the only ways in which the simulator computes, are 0 in bits 3:0 and 0xf
/// in bits 7:4 of MODE. Throws Fault for others.
void checkMode(uint32_t mode);

} // namespace heddle::simulator
