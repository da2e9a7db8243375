// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which values all threads of a block agree on, and which code all of them execute. A barrier in code that some threads
// skip makes the others wait for ever, so that everything that is not known to be uniform counts as divergent.
//
// What makes threads differ is the thread's number (`__heddle_gettid`), other external functions that are not pure or
// have no operands (but for waits between devices for a word that is written once), and inline assembly, whose
// registers may be a thread's own. Values are divergent by their operands, and by the branches and loops that decide
// which of several values they are.
#pragma once
#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseSet.h"
#include <optional>

namespace heddle::analysis {

class Uniformity {
public:
  /// Of a `tt.func`. Scalars that are loaded count as uniform if their address is: the emission of loads, atomic
  /// operations and polls sees to it outside divergent code.
  explicit Uniformity(mlir::Operation *function);

  bool isDivergent(mlir::Value value) const { return values.contains(value); }
  /// Whether perhaps two threads of one warp disagree on it: what is computed of warp numbers and uniform values is
  /// not.
  bool mayDifferInWarp(mlir::Value value) const;
  /// Whether perhaps some threads of the block skip it, or execute it less often than others.
  bool isDivergent(mlir::Block *block) const;

private:
  llvm::DenseSet<mlir::Value> values;
  llvm::DenseSet<mlir::Block *> blocks; ///< and what is nested in them
};

/// The same, solved by the first question; the function must not have changed by then. Most functions are never asked.
class LazyUniformity {
public:
  explicit LazyUniformity(mlir::Operation *function) : function(function) {}

  bool isDivergent(mlir::Block *block) {
    if (!solved)
      solved.emplace(function);
    return solved->isDivergent(block);
  }

private:
  mlir::Operation *function;
  std::optional<Uniformity> solved;
};

/// Whether a `tt.reduce` or `simt.reduce` is the or of bits, which one instruction of the whole block does: its result
/// is uniform even if the copies of a bit in several threads differ.
bool isAny(mlir::Operation *reduce);

} // namespace heddle::analysis
