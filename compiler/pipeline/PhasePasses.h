// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Phases of the table that are functions on modules, as passes: `heddle-insert-barriers{target=gfx942 warps=4}`.
#pragma once
#include <string>

namespace heddle {

struct Phase;

/// How heddle-opt names what a phase does; empty for a phase that is none for modules, such as the optimiser of LLVM.
std::string passesOf(const Phase &phase);
/// Registers a pass for each such phase of any target.
void registerPhasePasses();

} // namespace heddle
