// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Addresses as sums: what all lanes of a wave share, and what each has of its own, with the bounds of the latter. An
// instruction that adds 32 bits of a lane to 64 bits of the wave reaches everything only if the lane's part is known to
// be small: tensors of more than 4 GB are ordinary.
#pragma once
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/ConstantRange.h"
#include "llvm/IR/PassManager.h"
#include "llvm/IR/ValueHandle.h"
#include <cstdint>
#include <optional>

namespace heddle {

/// `value`, extended to 64 bits, times `factor`.
struct AddressTerm {
  llvm::WeakTrackingVH value; ///< an address may be that of another access, which is replaced
  bool isSigned;
  int64_t factor;
};

/// An address is `base` + the terms + `constant`, in bytes modulo 2^64.
struct AddressParts {
  llvm::WeakTrackingVH base;                ///< the same in all lanes of a wave
  llvm::SmallVector<AddressTerm, 4> ofWave; ///< the same in all lanes
  llvm::SmallVector<AddressTerm, 4> ofLane; ///< may differ
  int64_t constant = 0;
  int64_t least = 0, most = 0; ///< bounds of the sum of `ofLane`, as a number without wrap-around
};

struct WrappingSum;

/// Facts are those of the function as it was when the analysis was made.
class AddressAnalysis {
public:
  AddressAnalysis(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);

  /// The parts of `pointer` where `at` uses it; none when its base differs between lanes, or the lanes' part has no
  /// bounds of 64 bits.
  std::optional<AddressParts> split(llvm::Value *pointer, const llvm::Instruction *at) const;
  /// The parts of `pointer` from an argument of the kernel on from which all accesses lie within a buffer: all but that
  /// is the lane's. Offsets are of 32 bits. None where no such argument is found.
  std::optional<AddressParts> splitWithinBuffer(llvm::Value *pointer) const;
  /// Whether all lanes of a wave that reach `at` together have the same `value` there.
  bool isOfWave(const llvm::Value *value, const llvm::Instruction *at) const;

private:
  bool addTerms(llvm::Value *value, bool isSigned, int64_t factor, const llvm::Instruction *at,
                AddressParts &parts) const;
  bool addSum(llvm::Instruction *sum, bool isSigned, int64_t factor, const llvm::Instruction *at,
              AddressParts &parts) const;
  bool addLeaf(llvm::Value *value, bool isSigned, int64_t factor, const llvm::Instruction *at,
               AddressParts &parts) const;
  bool collect(llvm::Value *value, int64_t factor, const llvm::Instruction *at, WrappingSum &sum) const;
  bool addWrapping(llvm::Value *value, bool isSigned, int64_t factor, const llvm::Instruction *at,
                   AddressParts &parts) const;
  bool isExact(llvm::Instruction *sum, bool isSigned, const llvm::Instruction *at) const;
  llvm::ConstantRange rangeOf(llvm::Value *value, bool isSigned, const llvm::Instruction *at) const;

  llvm::Function &function;
  llvm::FunctionAnalysisManager &analyses;
};

} // namespace heddle
