// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stages of warp pipelines, found in loops over matmuls whose tiles are copied ahead: what reads shared memory and
// begins copies is a stage, and so are the matmuls and what they need, up to the next read.
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace heddle::simt {

class GpuTarget;

/// Works on innermost loops of a block of two groups of warps (WarpPipelines.h) that begin with a wait for copies and a
/// barrier. A loop of which the passes after this one cannot prove that its stages are apart, or which is estimated to
/// gain nothing, stays as it is; a remark says what was decided.
void findStages(mlir::ModuleOp module, const GpuTarget &target, int warps);

} // namespace heddle::simt
