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

/// Marks such innermost loops (simt.defers_second) of tiles that have layouts, before their loads are prefetched; or
/// where pipeline-loops does not do that to each of them, because tiles come by way of registers, rewrites them so that
/// the second matmul's right operand is loaded an iteration later. A loop stays as it is where that is not possible.
/// The same operations on each element, in the same order. `runPhasesAfter` runs the phases up to the one that finds
/// stages; where these do not make stages of each such loop, all loops stay as they are.
void deferChains(mlir::ModuleOp module,
                 llvm::function_ref<mlir::LogicalResult(mlir::OwningOpRef<mlir::ModuleOp> &)> runPhasesAfter);

} // namespace heddle::simt
