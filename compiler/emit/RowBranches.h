// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of a tile whose columns are lanes: where nothing proves how far they lie apart, a wave's row, its offset and its
// mask are computed in scalar registers, and its mask is a branch of the wave. A buffer that begins at a wave's row
// would keep the mask too, but making one for each row takes more instructions than its branch.
#pragma once
#include "compiler/emit/MaskBranches.h"
#include "compiler/emit/WaveScalars.h"
#include "llvm/Analysis/LoopInfo.h"

namespace heddle {

class RowBranches {
public:
  RowBranches(llvm::Function &function, const AddressAnalysis &addresses, const llvm::LoopInfo &loops)
      : function(function), addresses(addresses), loops(loops), scalars(addresses) {}

  /// The rows in an access's address become scalars.
  void shareRows(const MaskedAccess &access);
  /// So do their masks, but for those that a loop only reads.
  void shareMasks(llvm::MutableArrayRef<Guard> guards, const llvm::Instruction *at);

  /// Finds branches around stores, one behind the other, whose lanes have one mask and whose rows have masks of the
  /// wave; none of those that are flattened.
  void plan(const MaskedAccesses &accesses, const FlatBranches &flattened);
  /// The lanes' mask is tested once, in front of all.
  void write();

private:
  /// A branch around a block that only stores.
  struct StoreBranch {
    llvm::BranchInst *branch;
    llvm::BasicBlock *block, *next;
    Guards ofWave, ofLane;
  };
  std::optional<StoreBranch> storeBranchIn(llvm::BasicBlock &head, const MaskedAccesses &accesses);
  void write(llvm::ArrayRef<StoreBranch> chain);

  llvm::Function &function;
  const AddressAnalysis &addresses;
  const llvm::LoopInfo &loops;
  WaveScalars scalars;
  std::vector<llvm::SmallVector<StoreBranch>> chains;
};

} // namespace heddle
