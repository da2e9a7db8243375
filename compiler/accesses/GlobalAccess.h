// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Accesses to global memory as use-buffers sees them: where each goes, and which masks have to allow it.
#pragma once
#include "compiler/accesses/AddressParts.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"

namespace heddle {

using Guards = llvm::SmallVector<llvm::Value *, 2>; ///< bits, all of which have to be set

/// Where an access goes: the wave's pointer + the lane's offset + a constant.
struct Place {
  AddressParts parts;
  int64_t ofPointer = 0; ///< added to what the wave shares
  int64_t ofOffset = 0;  ///< added to the lane's part, which is then 0 or more
  int64_t constant = 0;  ///< the instruction's
};

/// A load or a store, or LLVM's masked one.
struct GlobalAccess {
  llvm::Instruction *instruction;
  bool isLoad;
  llvm::WeakTrackingVH pointer;
  llvm::WeakTrackingVH
      value; ///< what is stored, or what a masked load gives where it may not; null: a load without mask
  llvm::Align align;
  llvm::Value *bit = nullptr;                ///< the mask; null: there is none
  Guards ofWave = {}, ofLane = {};           ///< what the mask is the conjunction of
  std::optional<Place> place = std::nullopt; ///< only if the lane's part is proven to fit into a buffer
  bool isInBranch = false;                   ///< its mask becomes a branch

  llvm::Type *type() const { return value ? value->getType() : instruction->getType(); }
};

/// The bit of all; there is one at least.
llvm::Value *conjunction(llvm::IRBuilder<> &b, llvm::ArrayRef<llvm::Value *> guards);

} // namespace heddle
