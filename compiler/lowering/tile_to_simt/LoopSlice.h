// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What in a loop's body computes the addresses and masks of loads, from the loop's counter and carried scalars: what is
// computed again for a later iteration. And the steps that pipelined loops have in common.
#pragma once
#include "compiler/dialects/simt/Simt.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace heddle::simt {

/// What of global memory operations may write.
class MemoryWrites {
public:
  /// Also what is in the regions of the operation.
  void add(mlir::Operation *op);
  /// Whether what is read through the pointer, or a tile of them, may be among it.
  bool mayChange(mlir::Value pointer) const;
  bool isUnknown() const { return isAnywhere; } ///< anything, or accesses of other blocks are ordered
  bool isNone() const { return !isAnywhere && roots.empty(); }

private:
  bool isAnywhere = false;
  llvm::SmallPtrSet<mlir::Value, 4> roots; ///< arguments of the kernel; else what these point to
};

class LoopSlice {
public:
  /// `mostIndexWords`: of what a thread may load for addresses, as the entries of a page table, in words; the loop must
  /// not write these.
  explicit LoopSlice(mlir::scf::ForOp loop, int64_t mostIndexWords = 0) : loop(loop), mostIndexWords(mostIndexWords) {
    writes.add(loop);
  }

  /// Adds what computes these values, of which some may be null. False, and nothing is added, where one of them takes
  /// more than arithmetic on the loop's counter, on carried scalars, on what is computed before the loop, and on loaded
  /// indices where there may be such.
  bool add(llvm::ArrayRef<mlir::Value> values);
  bool contains(mlir::Operation *op) const { return ops.contains(op); }
  const MemoryWrites &loopWrites() const { return writes; } ///< of the loop
  /// The numbers of the carried scalars that it needs.
  llvm::ArrayRef<unsigned> carried() const { return numbers.getArrayRef(); }
  /// What the counter and the carried scalars are in an iteration, followed by the indices that it loads.
  mlir::IRMapping at(mlir::Value counter, mlir::ValueRange scalars) const;
  /// The indices of the iteration with this counter and these carried scalars, loaded where it is one (`active`, i1).
  llvm::SmallVector<mlir::Value> loadIndices(mlir::OpBuilder &b, mlir::Value counter, mlir::ValueRange scalars,
                                             mlir::Value active) const;
  /// Clones the operations of the slice but its loads, or those that `isWanted`, in the order of the body.
  void clone(
      mlir::OpBuilder &b, mlir::IRMapping &map,
      llvm::function_ref<bool(mlir::Operation *)> isWanted = [](mlir::Operation *) { return true; }) const;
  /// Those that compute scalars, which take no tiles.
  void cloneScalars(mlir::OpBuilder &b, mlir::IRMapping &map) const;
  /// The carried scalars of the iteration after that of `map`, for which the slice, or its scalars, are cloned.
  llvm::SmallVector<mlir::Value> next(const mlir::IRMapping &map) const;

private:
  bool collect(mlir::Value value);
  bool isIndexLoad(mlir::Operation *op) const;
  llvm::SmallVector<GlobalLoadOp> indexLoads() const; ///< in the order of the body

  mlir::scf::ForOp loop;
  int64_t mostIndexWords;
  MemoryWrites writes;
  llvm::SetVector<mlir::Operation *> ops;
  llvm::SetVector<unsigned> numbers;
};

/// `mask`, which may be null, of accesses like `type`, a tile or a scalar, where `active` (i1) holds. No plain `and`:
/// what an iteration that is none computes may be poison.
mlir::Value maskWhere(mlir::OpBuilder &b, mlir::Location at, mlir::Value active, mlir::Value mask, mlir::Type type);
/// The first matmul in the same block that reads what is loaded, or what is computed of it there; null: none.
MatrixDotOp firstDotOf(GlobalLoadOp load);
/// Moves the body of `loop`, without its terminator, to `made`, a loop with the same carried values and more, before
/// `place`. Returns what it yielded.
llvm::SmallVector<mlir::Value> moveBody(mlir::scf::ForOp loop, mlir::scf::ForOp made, mlir::Block::iterator place);
/// Whether no other loop is in it.
bool isInnermost(mlir::scf::ForOp loop);
/// The number after `stage` in a ring of `stages` tiles.
mlir::Value nextStage(mlir::ImplicitLocOpBuilder &b, mlir::Value stage, int64_t stages);
/// A conversion of a loaded tile, or of its transposed one.
struct TileRead {
  ConvertLayoutOp convert;
  triton::TransOp trans;       ///< null: of the tile itself
  layout::LinearLayout wanted; ///< of the tile as it lies in memory
};
/// `isAll`: nothing else reads the load.
llvm::SmallVector<TileRead> readsOf(GlobalLoadOp load, bool &isAll);
/// Replaces a load by reads of tile `stage` of `ring`, each in the layout that its user wants, of transposed tiles too.
void readRing(GlobalLoadOp load, mlir::Value ring, mlir::Value stage);

} // namespace heddle::simt
