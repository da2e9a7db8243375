// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How AMD's chips reach global memory: which accesses are buffer instructions, which have an address of the wave and an
// offset of the lane, which stay as they are; and how a mask is kept.
#pragma once
#include "llvm/IR/PassManager.h"

namespace llvm {
class PassBuilder;
}

namespace heddle {

/// Runs on the optimised code of one thread. What the mask of a masked load or store forbids lies outside a buffer: its
/// offset, or the buffer's size, is such that the chip reads zero and writes nothing. That takes an address of which
/// AddressAnalysis proves that lanes differ by less than 2 GB: the buffer starts at what the wave shares, in 64 bits.
/// Where there is no proof, the access has its whole address and stands in a branch. Atomic and volatile accesses stay.
class BufferAccessesPass : public llvm::PassInfoMixin<BufferAccessesPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module &module, llvm::ModuleAnalysisManager &analyses);
};

/// Adds it, and what makes one of the buffers and offsets that it writes for each access.
void addBufferAccesses(llvm::PassBuilder &builder, llvm::ModulePassManager &manager);

} // namespace heddle
