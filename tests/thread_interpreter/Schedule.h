// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whose turn it is: lanes of a warp, warps of the resident blocks, ranks.
#pragma once
#include "tests/thread_interpreter/Machine.h"

namespace heddle::threads {

/// One turn of the ranks that are not done, as the policy has it: none when all are. A rank whose thread does what it
/// may not, or whose threads wait for what never comes, ends with Rank::error.
void runTurn(Machine &machine);

/// Runs all blocks of all ranks, or until one of them fails; errors and findings are in machine.report.
void runAll(Machine &machine);

} // namespace heddle::threads
