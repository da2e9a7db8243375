// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Warp pipelines: two groups of warps execute the stages of a loop, or of straight code, one stage apart, so that one
// group moves data while the other computes. docs/warp-pipeline.md has the rules W that the errors name.
#pragma once
#include "compiler/analysis/Uniformity.h"
#include "compiler/dialects/simt/Simt.h"
#include "compiler/lowering/simt/GlobalOrder.h"
#include "compiler/lowering/simt/GpuTarget.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace heddle::simt {

/// Warps that execute the same stage at the same time.
inline constexpr int warpsOfGroup = 4;

/// The stages of a loop, in their order, or those that follow each other in a block.
struct WarpPipeline {
  llvm::SmallVector<StageOp> stages;
  mlir::scf::ForOp loop = {}; ///< null: straight code, each stage is executed once
};

/// That of which `stage` is one.
WarpPipeline pipelineOf(StageOp stage);

/// Whether it stands between `simt.shift_warps` and `simt.align_warps`.
bool isShifted(mlir::Operation *op);

/// A stage of these operations of the builder's block, where the builder stands; it yields what is used outside.
StageOp makeStage(mlir::OpBuilder &b, mlir::Location location, llvm::ArrayRef<mlir::Operation *> ops,
                  llvm::StringRef label, std::optional<int64_t> priority);

/// Puts a barrier between each two stages, and what shifts the upper half of the warps by a stage before the first and
/// after the last. The barriers order accesses to shared memory; insert-barriers makes those bare of which that is not
/// needed. An error at what breaks a rule. A kernel that asserts has its stages executed one after the other, with a
/// warning, since assertions are told to all threads at a barrier.
mlir::LogicalResult pipelineWarps(mlir::ModuleOp module, BlockShape block, const GpuTarget &target);

/// Puts the body of each `simt.stage` within `root` in its place.
void inlineStages(mlir::Operation *root);

} // namespace heddle::simt
