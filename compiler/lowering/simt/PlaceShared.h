// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the memory objects of a block lie in its shared memory.
#pragma once
#include "compiler/dialects/simt/Simt.h"

namespace heddle::simt {

/// Of a memory object and of its views, as far as operations of this level make them.
llvm::SmallVector<mlir::Operation *> usersOf(mlir::Value memory);
/// Whether a memory object that `user` takes may be used after it by what does not take the object itself: control flow
/// and selections give it other names.
bool passesOn(mlir::Operation *user);
/// The last byte that memory objects with a place have, plus one.
int64_t placedBytes(triton::FuncOp function);

/// Gives every `simt.alloc` without a place the lowest one that no other has while it is alive: from the operation to
/// the last use of it or a view, in the order of the text. One that control flow passes on lives to the end. An error
/// where all together are more than `sharedBytes`, of which at most that many are for one block.
mlir::LogicalResult placeSharedMemory(mlir::ModuleOp module, int64_t sharedBytes);

} // namespace heddle::simt
