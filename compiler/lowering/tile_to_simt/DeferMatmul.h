// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops with a chain of two matmuls, as of attention: the second one multiplies what is computed from the first one's
// result, and adds to a sum that the loop carries. Its operands are carried to the next iteration, where it runs beside
// what is computed there: the matrix units then have work while threads compute the left operand.
#pragma once
#include "compiler/dialects/simt/Simt.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/SetVector.h"

namespace heddle::simt {

/// Such a pair of matmuls in a loop.
struct MatmulChain {
  MatrixDotOp first, second;
  bool isDeferrable =
      false; ///< registers hold both results and the second one's left operand, which is what deferring takes
  /// For the second one's right operand alone, where producer warps copy it: before and after the matmul.
  WaitArrivalsOp wait = {};
  ArriveOp arrive = {};
  explicit operator bool() const { return second != nullptr; }
};

/// The chain of the loop's body; none where something else needs the second one's result in the same iteration, where
/// the first one adds to a sum or has a carried left operand, or where the second one multiplies nothing that is
/// computed from the first one's result.
MatmulChain chainOf(mlir::scf::ForOp loop);
/// Of matmuls of warp groups; a thread has `mostWords` registers.
MatmulChain findChain(mlir::scf::ForOp loop, int64_t mostWords);

/// The upper bound for all iterations of the loop but one, where it has one.
mlir::Value boundWithoutOne(mlir::ImplicitLocOpBuilder &b, mlir::scf::ForOp loop);

/// What rewriting a loop with its second matmul an iteration later has in common: a branch for loops that have an
/// iteration, in which the first iteration stands before the new loop, and the last one's second matmul after it.
class DeferredLoop {
protected:
  /// `hasIteration`: the loop is known to have one, so that it needs no branch.
  explicit DeferredLoop(mlir::scf::ForOp loop, bool hasIteration = false)
      : loop(loop), b(loop.getLoc(), loop), hasIteration(hasIteration) {}
  /// Takes the chain, which must be one of the loop.
  void setChain(MatmulChain taken);

  /// The branch, of which the other region is complete; code is being added to it. Null if the loop has an iteration.
  mlir::scf::IfOp beginBranch();
  /// The values of the first iteration.
  mlir::IRMapping firstIteration();
  /// What the loop carries after an iteration that `map` knows, but for the sum.
  llvm::SmallVector<mlir::Value> othersAfter(const mlir::IRMapping &map);
  /// The loop over the other iterations, without a body; code is being added to it. `map` gets the counter of its
  /// iterations and what it carries but for the sum.
  mlir::scf::ForOp beginLoop(mlir::ValueRange inits, mlir::IRMapping &map);
  /// Of what the new loop carries, or gives, what the second matmul takes.
  mlir::ValueRange laterOf(mlir::ValueRange carried) { return carried.drop_front(loop.getNumResults() - 1); }
  /// Ends the branch, with `sum` in its place among the results, and erases the old loop.
  void endBranch(mlir::scf::IfOp branch, mlir::ValueRange results, mlir::Value sum);

  mlir::scf::ForOp loop;
  MatmulChain chain;
  mlir::ImplicitLocOpBuilder b;
  unsigned number = 0; ///< of the carried sum
  bool hasIteration;
  llvm::SetVector<mlir::Operation *> path; ///< from the carried sum to the one that the second matmul adds to
};

/// Rewrites a loop whose second matmul reads its right operand from a ring, with a tile more than those that are read
/// in the same iteration have. The first iteration stands before the new loop and the last one's second matmul after
/// it, all of them in a branch for loops that have an iteration, which is returned and has the results of the loop. A
/// loop that is known to have one (`hasIteration`) gets no branch, and null is returned. The same operations in the
/// same order.
mlir::Operation *deferSecond(mlir::scf::ForOp loop, MatmulChain chain, bool hasIteration = false);

/// Leaves the second matmul pending at the end of an iteration, so that the next one's first matmul begins before it
/// ends; the sum is waited for where it is used. Takes the same rings as deferSecond, and fewer registers.
void leavePending(mlir::scf::ForOp loop, MatmulChain chain);

} // namespace heddle::simt
