// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How many registers hold a value that some later instruction reads, at each instruction of a kernel: where its need of
// registers comes from.
#pragma once
#include "simulator/analysis/MachineCode.h"

namespace heddle::simulator {

struct LiveCount {
  uint32_t vector = 0, scalar = 0; ///< architected and accumulation registers together; scalar ones with VCC, M0, EXEC
};

/// Before each of `code.instructions`. A write counts as a write of all lanes, although EXEC may name fewer; relative
/// addresses and calls, whose registers no text names, are not followed.
std::vector<LiveCount> countLiveRegisters(const MachineCode &code);

} // namespace heddle::simulator
