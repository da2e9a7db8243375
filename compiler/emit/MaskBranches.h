// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Masks that are branches, in both directions: a branch around stores goes where buffers keep the mask, and a load that
// no buffer does gets one.
#pragma once
#include "compiler/emit/MaskedAccess.h"
#include "llvm/ADT/DenseSet.h"

namespace heddle {

/// Branches that the lanes of a wave take apart, around blocks that only store to places within buffers.
class FlatBranches {
public:
  /// Finds them. Accesses in their blocks get the branch's bit as a guard.
  FlatBranches(llvm::Function &function, const AddressAnalysis &addresses, MaskedAccesses &accesses);

  bool endsIn(const llvm::BasicBlock *head) const { return heads.contains(head); } ///< one of them
  void remove();                                                                   ///< their blocks go in front of them

private:
  llvm::SmallVector<llvm::BasicBlock *> blocks;
  llvm::DenseSet<const llvm::BasicBlock *> heads;
};

/// `%x = load ...; %y = select bit, %x, other` with the load's own bit: %y, if nobody else reads %x.
llvm::SelectInst *otherwiseOf(llvm::Instruction *load, llvm::ArrayRef<Guard> guards);

/// Moves loads that have guards and no place into branches. Neighbours whose lanes have one mask share its branch; in
/// it, each mask of the wave has a branch of its own.
void writeLoadBranches(const MaskedAccesses &accesses);

} // namespace heddle
