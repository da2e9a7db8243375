// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How many registers a thread of a kernel for NVIDIA needs, before the driver's assembler has seen it.
#pragma once
#include "llvm/Analysis/UniformityAnalysis.h"

namespace llvm {
class Function;
class Instruction;
} // namespace llvm

namespace heddle {

/// The most 32-bit registers that hold values at once, in `function` as it goes to PTX; `uniformity` is its own.
///
/// Counted as the assembler counts (measured with ptxas 12.8 and 13.0, docs/sm_90.md): what all threads of a warp
/// compute alike from integers lies in uniform registers, and predicates in their own; arithmetic is placed before its
/// only user where that keeps less alive. It is no bound: the assembler also moves loads.
unsigned estimateRegisters(const llvm::Function &function, const llvm::UniformityInfo &uniformity);

/// Registers without which the assembler refuses the matmuls of warp groups in `function`; 0 where there are none.
unsigned leastForGroupMatmuls(const llvm::Function &function);

/// A division of 64-bit integers by what is no constant, for which chips have no instruction.
bool isWideDivision(const llvm::Instruction &instruction);

/// Whether there are asynchronous copies to shared memory (cp.async).
bool copiesAsynchronously(const llvm::Function &function);

} // namespace heddle
