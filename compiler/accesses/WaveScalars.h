// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the number of a wave decides is the same in all of its lanes: rows of a tile whose columns are lanes, and their
// masks. Computed once more, of the number in a scalar register, it takes no vector registers and no mask of lanes: a
// mask is a branch of the wave then. A buffer that begins at a wave's row would keep the mask too, but making one for
// each row takes more instructions than its branch.
#pragma once
#include "llvm/ADT/DenseMap.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Instructions.h"

namespace heddle {

class AddressAnalysis;

class WaveScalars {
public:
  WaveScalars(const AddressAnalysis &addresses, const llvm::LoopInfo &loops) : addresses(addresses), loops(loops) {}

  /// The rows in the address that `at` uses become scalars.
  void shareRows(llvm::Value *pointer, const llvm::Instruction *at);
  /// So do offsets from where LDS begins.
  void shareOffsets(llvm::Value *pointer, const llvm::Instruction *at);
  /// So does a mask, but one that a loop only reads; null when it does not.
  llvm::Value *shareMask(llvm::Value *bit, const llvm::Instruction *at);

private:
  /// `value`, of 32 bits, in a scalar register where `at` uses it; null when lanes of a wave may differ there.
  llvm::Value *scalarOf(llvm::Value *value, const llvm::Instruction *at);
  /// The same comparison of scalars; null when one of its operands has none.
  llvm::Value *comparisonOf(llvm::ICmpInst *comparison, const llvm::Instruction *at);
  bool isOfNumber(llvm::Value *value, const llvm::Instruction *at, unsigned depth) const;
  llvm::Value *waveNumber(llvm::Instruction *thread);
  llvm::Value *scalarCopy(llvm::BinaryOperator *operation, const llvm::Instruction *at);

  const AddressAnalysis &addresses;
  const llvm::LoopInfo &loops;
  llvm::DenseMap<llvm::Instruction *, llvm::Value *> copies; ///< by what they are copies of
};

} // namespace heddle
