// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Accesses to global memory and what decides whether they happen: for use-buffers, which finds and rewrites them, and
// for predicate-accesses, which puts them under a predicate.
#pragma once
#include "compiler/emit/AddressParts.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"

namespace heddle {

/// What decides an access: it happens where the bit is set, or where it is not.
struct Guard {
  llvm::Value *bit;
  bool inverted;
  bool operator==(const Guard &) const = default;
};
using Guards = llvm::SmallVector<Guard, 2>; ///< all of them have to allow it

/// Adds what `bit` is the conjunction of.
void addGuards(llvm::SmallVectorImpl<Guard> &guards, llvm::Value *bit, bool inverted);
/// The bit of all; null of none.
llvm::Value *conjunction(llvm::IRBuilder<> &b, llvm::ArrayRef<Guard> guards);

/// Where an access goes: the wave's pointer + the lane's offset + a constant.
struct Place {
  AddressParts parts;
  int64_t ofPointer = 0; ///< added to what the wave shares
  int64_t ofOffset = 0;  ///< added to the lane's part, which is then 0 or more
  int64_t constant = 0;  ///< the instruction's
};

struct MaskedAccess {
  llvm::Instruction *instruction;
  llvm::WeakTrackingVH pointer;
  Guards guards = {};
  Guards ofWave = {}, ofLane = {};           ///< the same, apart; known when all accesses have been found
  llvm::SelectInst *otherwise = nullptr;     ///< chooses a constant in the place of what is not loaded; null: that is 0
  std::optional<Place> place = std::nullopt; ///< only if the lane's part is proven to fit into a buffer
};
using MaskedAccesses = llvm::MapVector<llvm::Instruction *, MaskedAccess>;

/// Whether it may be computed although nobody asked. The chip's own functions, those that begin with `chipFunctions`,
/// have no undefined behaviour.
bool isHarmless(const llvm::Instruction &instruction, llvm::StringRef chipFunctions);

/// Whether a load or a store is neither volatile nor atomic.
bool isSimple(const llvm::Instruction &instruction);

} // namespace heddle
