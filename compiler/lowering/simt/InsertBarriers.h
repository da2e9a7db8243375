// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order of accesses to memory objects of shared memory: a thread may read or write what another one of the block
// wrote or read before, and without a barrier nothing orders the two. What is in flight (copies from global memory,
// products of warp groups) needs a wait in the thread that began it, and then the barrier. Memory objects have their
// places (PlaceShared.h); scratch memory that operations need besides is ordered where it is made (SharedMemory.h).
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace heddle::simt {

/// Inserts `simt.barrier` where, on some path, two accesses to the same bytes of which at least one writes have no
/// barrier between them. All threads come to a barrier: where they would not (a branch that depends on the thread), the
/// access is an error at its location. So is an access to what may still be in flight, which takes a wait.
mlir::LogicalResult insertBarriers(mlir::ModuleOp module);

/// An error, with both locations, for the first access to bytes that another one before it, on some path, is not
/// ordered with. Where it is not known which bytes an access is for, it is for all that it may be.
mlir::LogicalResult verifyHazards(mlir::ModuleOp module);

} // namespace heddle::simt
