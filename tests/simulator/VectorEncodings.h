// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Encodings of vector instructions, one for each opcode of each format. Some are no instruction of a chip.
#pragma once
#include <cstdint>
#include <vector>

namespace heddle::simulator {

/// Without modifiers; sources and destinations lie in even registers.
std::vector<std::vector<uint32_t>> vectorEncodings();

/// With random modifiers: signs, clamp, omod and op_sel of VOP3 and VOP3P, DPP, SDWA.
std::vector<std::vector<uint32_t>> modifiedEncodings(uint64_t seed);

} // namespace heddle::simulator
