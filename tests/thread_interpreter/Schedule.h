// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whose turn it is: lanes of a warp, warps of the resident blocks, ranks.
#pragma once
#include "tests/thread_interpreter/Machine.h"

namespace heddle::threads {

/// Runs all blocks of all ranks; errors and findings are in machine.report.
void runAll(Machine &machine);

} // namespace heddle::threads
