// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops with a chain of two matmuls, as of attention: the second one, and the load of its right operand, move to the
// next iteration, beside the first one. Between the two matmuls of an iteration then stands nothing, and all that is
// computed from the first one's result, the softmax, is one piece: one group of warps can multiply while the other one
// computes. For chips whose matmuls are of one warp; DeferMatmul.h is for warp-group MMA.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace heddle::simt {

/// Rewrites such innermost loops of tiles that have layouts, before their loads are prefetched. A loop stays as it is
/// where the load of the second matmul's right operand cannot be made an iteration later. The same operations on each
/// element, in the same order. `runPhasesAfter` runs the phases up to the one that finds stages; where these do not
/// make stages of each rewritten loop, all loops stay as they are.
void deferChains(mlir::ModuleOp module,
                 llvm::function_ref<mlir::LogicalResult(mlir::OwningOpRef<mlir::ModuleOp> &)> runPhasesAfter);

} // namespace heddle::simt
