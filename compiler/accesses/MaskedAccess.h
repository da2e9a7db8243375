// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LLVM's masked loads and stores of global memory, as the lowering writes them (compiler/lowering/simt/MaskedAccess.h):
// what the phases of both vendors read of them.
#pragma once
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"

namespace heddle {

/// All elements of an access have one mask. A vector of one element is that element here.
struct MaskedAccess {
  llvm::IntrinsicInst *call;
  bool isLoad;
  llvm::Value *pointer;
  llvm::Value *bit;   ///< i1; where it is set there is an access
  llvm::Value *value; ///< what is stored, or what a load gives where the bit is not set
  llvm::Align align;
};

/// Whether it is a masked load or store of global memory.
bool isMasked(const llvm::Instruction &instruction);
/// The operands of one. What is taken out of vectors for it stands before it.
MaskedAccess readMasked(llvm::Instruction &instruction);

/// Puts `loaded` in the place of a load's result, and erases the load.
void replaceLoad(llvm::IntrinsicInst *load, llvm::Value *loaded);

} // namespace heddle
