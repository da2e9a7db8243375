// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stages of warp pipelines, found in loops over matmuls whose tiles are copied ahead: what reads shared memory and
// begins copies is a stage, and so are the matmuls and what they need, up to the next read.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace heddle::simt {

class GpuTarget;

struct StageOptions {
  const GpuTarget &target;
  int warps;     ///< of a block
  bool isAlways; ///< also where no estimate says that they gain anything, or there is none
  /// Runs the phases after this one on a module, up to the proof that accesses are ordered.
  llvm::function_ref<mlir::LogicalResult(mlir::OwningOpRef<mlir::ModuleOp> &)> runPhasesAfter;
};

/// Works on innermost loops of a block of two groups of warps (WarpPipelines.h) that begin with a wait for copies and a
/// barrier. A loop of which the phases after this one cannot prove that its stages are apart, or which is estimated to
/// gain nothing, stays as it is; a remark says what was decided. Chips without an estimate of time get stages only if
/// `isAlways`, in loops over matmuls of warp groups.
/// Whether any were made.
bool findStages(mlir::ModuleOp module, const StageOptions &options);

} // namespace heddle::simt
