// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An estimate of the cycles that the stages of a warp pipeline take, from the sizes of their tiles and the chip's
// timing model (chips/TimingModel.h). docs/warp-pipeline.md has the formulas, beside what the simulator estimates of
// the code.
#pragma once
#include "chips/TimingModel.h"
#include "mlir/IR/Operation.h"

namespace heddle::simt {

/// Cycles for which the warps of one group occupy the units of a compute unit; each SIMD has one of them.
struct StageWork {
  double matrix = 0, vector = 0, shared = 0, global = 0;

  /// One after the other: matrix instructions and what they compute from; copies, which are issued as fast as the
  /// memory takes them, and the reads behind them.
  double alone() const { return std::max(matrix + vector, shared + global); }
  double longest() const { return std::max({matrix, vector, shared, global}); }
  StageWork operator+(const StageWork &other) const {
    return {matrix + other.matrix, vector + other.vector, shared + other.shared, global + other.global};
  }
};

/// Of an operation of a loop whose tiles two groups share.
StageWork workOf(mlir::Operation *op, const TimingModel &model);

/// An iteration in which the groups are a stage apart. `latency`: cycles that copies take which are begun in the first
/// stage and waited for before the last.
double cyclesApart(llvm::ArrayRef<StageWork> stages, double latency);
/// An iteration in which both groups do the same at the same time, one step after the other.
double cyclesTogether(llvm::ArrayRef<StageWork> steps);

} // namespace heddle::simt
