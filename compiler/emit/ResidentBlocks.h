// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How many blocks of a kernel for NVIDIA are to fit on a multiprocessor at once: as many as its registers allow.
#pragma once
#include "llvm/ADT/FunctionExtras.h"
#include "llvm/IR/PassManager.h"

namespace heddle {

struct Chip;

/// What was chosen for a kernel, and why.
struct ResidentBlocks {
  int64_t blocks = 0;    ///< at once on a multiprocessor
  int64_t registers = 0; ///< that a thread needs, by estimateRegisters
};

/// Writes `nvvm.minctasm` (`.minnctapersm` in PTX) at each kernel that does not say itself how many of its blocks are
/// to fit: the most for which each thread still has the registers that estimateRegisters finds, but no more than have
/// room for their `sharedBytes` of shared memory; 1 if that is none. `report` is called for each.
void addResidentBlocks(llvm::ModulePassManager &manager, const Chip &chip, int64_t sharedBytes,
                       llvm::unique_function<void(const ResidentBlocks &)> report);

} // namespace heddle
