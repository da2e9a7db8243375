// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order of accesses to memory: a thread may read or write what another one of the block wrote or read before, and
// without a barrier nothing orders the two. This is so for memory objects of shared memory, which have their places
// (PlaceShared.h), and for global memory (GlobalOrder.h). What is in flight (copies from global memory, matmuls of
// warp groups) needs a wait in the thread that began it, and then the barrier.
#pragma once
#include "compiler/lowering/simt/GlobalOrder.h"
#include "mlir/IR/BuiltinOps.h"

namespace heddle::simt {

/// Inserts `simt.barrier` where, on some path, two accesses to the same bytes of which at least one writes have no
/// barrier between them; one of each warp where a warp's threads alone access those bytes. All threads come to a
/// barrier: where they would not (a branch that depends on the thread), an access to shared memory is an error at its
/// location, and accesses to global memory stay as they are. An access to what is still in flight, which takes a
/// wait, is an error; where it is not known to be for the same tile, a wait for all copies is inserted, with a warning.
mlir::LogicalResult insertBarriers(mlir::ModuleOp module, BlockShape block);

/// An error, with both locations, for the first access to bytes that another one before it, on some path, is not
/// ordered with. Where it is not known which bytes an access is for, it is for all that it may be.
mlir::LogicalResult verifyHazards(mlir::ModuleOp module, BlockShape block);

} // namespace heddle::simt
