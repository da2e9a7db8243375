// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stages of warp pipelines, for blocks whose warps all do the same at the same time.
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace heddle::simt {

/// Puts the body of each `simt.stage` in its place; a warning for the first, since its author expects two groups of
/// warps to be a stage apart.
void inlineStages(mlir::ModuleOp module);

} // namespace heddle::simt
