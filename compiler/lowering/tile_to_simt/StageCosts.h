// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An estimate of the cycles that the stages of a warp pipeline take, from the sizes of their tiles and the chip's
// timing model (chips/TimingModel.h). docs/warp-pipeline.md has the formulas, beside what the simulator estimates of
// the code.
#pragma once
#include "chips/TimingModel.h"
#include "compiler/dialects/simt/Simt.h"
#include "mlir/IR/Operation.h"
#include <algorithm>

namespace heddle::simt {

/// Cycles for which the warps of one group occupy the units of a compute unit; each SIMD has one of them.
struct StageWork {
  double matrix = 0, vector = 0;
  double reads = 0, writes = 0; ///< of LDS
  double global = 0;            ///< the path from L2
  double issue = 0;             ///< of copies, for which the path takes as long
  double computed = 0;          ///< of `vector`: from results of matmuls; the rest is addresses and masks
  double waits = 0;             ///< of matrix instructions, for what the stage reads

  double shared() const { return reads + writes; }
  /// One after the other: addresses, masks and reads; copies, which are issued as fast as the path takes them, and
  /// reads.
  double moving() const { return std::max(vector - computed + shared(), reads + issue); }
  /// One after the other, while the other group is in a stage that takes `other`: matrix instructions, what computes
  /// from them, and what is read after that. What computes has the matrix instructions of both groups before it, which
  /// take turns.
  double multiplying(const StageWork &other) const {
    return matrix + waits + (computed > 0 ? std::min(matrix, other.matrix) + computed + shared() : 0);
  }
  double longest() const { return std::max({matrix, vector, shared(), global}); }
  StageWork operator+(const StageWork &other) const {
    return {matrix + other.matrix, vector + other.vector, reads + other.reads,       writes + other.writes,
            global + other.global, issue + other.issue,   computed + other.computed, waits + other.waits};
  }
};

/// Elements of the operands in a thread that become ones of the instruction's type before it multiplies them.
int64_t convertedElements(MatrixDotOp dot);

/// Of an operation of a loop whose tiles two groups share.
StageWork workOf(mlir::Operation *op, const TimingModel &model);

/// What comes from memory during an iteration, begun in the first stage.
struct Arrival {
  double cycles;  ///< that it takes
  size_t stage;   ///< before which it must have come
  bool isOfGroup; ///< each group waits for what it has loaded itself; else for what both have
};

/// An iteration in which the groups are a stage apart.
double cyclesApart(llvm::ArrayRef<StageWork> stages, Arrival arrival);
/// An iteration in which both groups do the same at the same time, one step after the other.
double cyclesTogether(llvm::ArrayRef<StageWork> steps);
/// An iteration in which a warp does one step after the other, and warps may be in different steps: no barrier keeps
/// them together for long.
double cyclesFree(llvm::ArrayRef<StageWork> steps);

} // namespace heddle::simt
