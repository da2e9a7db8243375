// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an iteration of a loop over matmuls does, step by step, and the ways to cut it into the stages of a warp
// pipeline: before what reads shared memory or begins copies, before a matmul, and before what is computed from one.
#pragma once
#include "compiler/dialects/simt/Simt.h"
#include "compiler/lowering/tile_to_simt/StageCosts.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace heddle::simt {

/// Operations of one kind, one after the other.
struct Step {
  enum Kind : uint8_t { Memory, Matrix, Vector } kind;
  llvm::SmallVector<mlir::Operation *> ops = {};
  StageWork work = {};
};

/// A loop and what it does, step by step.
struct LoopSteps {
  mlir::scf::ForOp loop;
  AsyncWaitOp wait = {};  ///< with which it begins, where it copies straight to shared memory
  BarrierOp barrier = {}; ///< after it
  llvm::SmallVector<Step> steps = {};
};

/// Numbers of the steps with which stages begin; the first is 0.
using Cut = llvm::SmallVector<size_t>;

/// Of a loop that copies or stores tiles to shared memory and multiplies some; nothing for one of another form.
std::optional<LoopSteps> stepsOf(mlir::scf::ForOp loop, const TimingModel &model);
/// Why it is of another form; empty for one that is not.
llvm::StringRef whyNoSteps(mlir::scf::ForOp loop);

/// The ways to cut it, with the cycles that an iteration is estimated to take, the fastest first. Stages begin where
/// the kind of step changes, at some of these places.
std::vector<std::pair<double, Cut>> waysToCut(const LoopSteps &loop, const TimingModel &model);
/// The estimate for the loop as it is.
double cyclesUncut(const LoopSteps &loop);

/// Whether matmuls have vector code between them.
bool isChain(const LoopSteps &loop);

/// Of tiles in registers.
bool isMatmul(mlir::Operation *op);

} // namespace heddle::simt
