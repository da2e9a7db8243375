// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the memory objects of a block lie in its shared memory.
#pragma once
#include "compiler/dialects/simt/Simt.h"
#include <functional>

namespace heddle::simt {

class GpuTarget;

/// Of a memory object and of its views, as far as operations of this level make them.
llvm::SmallVector<mlir::Operation *> usersOf(mlir::Value memory);
/// Whether a memory object that `user` takes may be used after it by what does not take the object itself: control flow
/// and selections give it other names.
bool passesOn(mlir::Operation *user);
/// The last byte that memory objects with a place have, plus one.
int64_t placedBytes(triton::FuncOp function);

/// Where scratch memory may lie.
struct ScratchPlaces {
  int warps;
  /// After the other memory objects that are alive with it. `isOrdered`: or were before, with no barrier in the text
  /// since.
  std::function<int64_t(AllocOp, bool isOrdered)> firstByte;
  std::function<bool(AllocOp, AllocOp)> areAliveTogether;
};
/// Places scratch memory that has no place yet. What is alive together lies apart; so does what is in use one right
/// after the other, as long as all ends before `bytesBeforeReuse` after the other memory objects, and `mostBytes` in
/// all.
void placeScratch(triton::FuncOp function, const ScratchPlaces &places, int64_t bytesBeforeReuse, int64_t mostBytes);

/// Gives every `simt.alloc` without a place one that no other has while it is alive: from the operation to the last use
/// of it or a view, in the order of the text. One that control flow passes on lives to the end. An error where all
/// together are more than a block can have on this chip. Scratch memory comes after the others.
mlir::LogicalResult placeSharedMemory(mlir::ModuleOp module, const GpuTarget &target, int warps);

/// An error where two memory objects that are alive together share bytes.
mlir::LogicalResult verifyPlaces(triton::FuncOp function);

} // namespace heddle::simt
