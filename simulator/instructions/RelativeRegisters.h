// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Relative addressing of vector registers: under indexedMode an index in M0 is added to the registers of some operands.
#pragma once
#include "simulator/state/Wave.h"

namespace heddle::simulator {

/// The instruction with the registers that it means now: bits 12, 13 and 14 of M0 say which sources move, bit 15 the
/// destination. Throws Fault when one leaves the register file.
Instruction withRelativeRegisters(const Wave &wave, const Instruction &instruction);

} // namespace heddle::simulator
