// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Barriers that accesses to memory objects of shared memory need: a thread may read or write what another one of the
// block wrote or read before, and without a barrier nothing orders the two.
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace heddle::simt {

/// Inserts `simt.barrier` where, on some path, two accesses to one memory object of which at least one writes have no
/// barrier between them. All threads come to a barrier: where they would not (a branch that depends on the thread), the
/// access is an error at its location.
mlir::LogicalResult insertBarriers(mlir::ModuleOp module);

} // namespace heddle::simt
