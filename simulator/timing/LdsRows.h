// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For how many cycles an instruction occupies LDS: its lanes are served in groups, and a group takes a cycle for each
// different word that one bank has to give. Source of the groups: AMD, Composable Kernel, "Understanding AMD GPU LDS
// and Bank Conflicts"; AMD Accelerated Parallel Processing guide (halves of a wave for words of 4 bytes).
#pragma once
#include "chips/TimingModel.h"
#include "simulator/memory/MemoryRequest.h"

namespace heddle::simulator {

struct LdsRows {
  unsigned cycles = 0;
  unsigned conflictCycles = 0; ///< of these, the ones that a layout without bank conflicts would not need
};

/// Of a request to LDS, by its lanes' addresses. `banks` are of 4 bytes.
LdsRows ldsRowsOf(const MemoryRequest &request, const TimingModel &model, unsigned banks);

} // namespace heddle::simulator
