// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An estimate of the cycles that the stages of a warp pipeline take, from the sizes of their tiles and the chip's
// timing model (chips/TimingModel.h). docs/warp-pipeline.md has the formulas, beside what the simulator estimates of
// the code.
#pragma once
#include "chips/TimingModel.h"
#include "mlir/IR/Operation.h"
#include <algorithm>

namespace heddle::simt {

/// Cycles for which the warps of one group occupy the units of a compute unit; each SIMD has one of them.
struct StageWork {
  double matrix = 0, vector = 0;
  double reads = 0, writes = 0; ///< of LDS
  double global = 0;            ///< the path from L2, for copies

  double shared() const { return reads + writes; }
  /// One after the other: matrix instructions and what computes from them; copies, which are issued as fast as the path
  /// takes them, and the reads after them.
  double alone() const { return std::max(matrix + vector, reads + global); }
  double longest() const { return std::max({matrix, vector, shared(), global}); }
  StageWork operator+(const StageWork &other) const {
    return {matrix + other.matrix, vector + other.vector, reads + other.reads, writes + other.writes,
            global + other.global};
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
