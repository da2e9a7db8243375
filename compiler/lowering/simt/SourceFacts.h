// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the patterns of simt-to-threads know of an operation from the operations around it. They are applied one after
// the other, so that what stood before an operation is thread code by its turn: all of this is found out before the
// first.
#pragma once
#include "compiler/lowering/simt/GlobalOrder.h"
#include "compiler/lowering/simt/GpuTarget.h"
#include "compiler/sites/Sites.h"
#include "llvm/ADT/DenseSet.h"

namespace heddle::simt {

class SourceFacts {
public:
  SourceFacts(triton::FuncOp function, const GpuTarget &target, int warps);

  /// Operations of the source that no pattern has replaced. Arithmetic of scalars is the same operations in the source
  /// and in a thread's code, so that the name of one does not tell.
  llvm::DenseSet<mlir::Operation *> toLower;
  llvm::DenseSet<mlir::Operation *> divergent;   ///< in code that not all threads of the block execute alike
  llvm::DenseSet<mlir::Operation *> shifted;     ///< barriers between `simt.shift_warps` and `simt.align_warps`
  llvm::DenseSet<mlir::Operation *> agreeing;    ///< loads that must give all threads the same
  llvm::DenseSet<mlir::Operation *> byOwner;     ///< loads and reductions that one thread does, which alone needs them
  llvm::DenseSet<mlir::Operation *> forStores;   ///< loads of what only the owners of its elements store
  llvm::DenseSet<mlir::Operation *> lateReads;   ///< `simt.load_shared` whose one reader reads register by register
  llvm::DenseSet<mlir::Operation *> withinRange; ///< conversions to f8 of what is within its largest numbers, or NaN
  llvm::DenseMap<mlir::Operation *, int32_t> siteOf; ///< of prints and assertions
  /// Of comparisons of tiles: by axis, the length of groups in which all elements are equal, a power of two. None where
  /// it is 1 on each axis.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<int64_t, 4>> equalGroups;
  /// Of quotients and remainders of tiles by a number that is the same along `axis`: in each group of `length` elements
  /// along it the dividend counts up by one, from a multiple of the length, which divides the divisor too.
  struct CountedGroups {
    int axis = 0;
    int64_t length = 1;
  };
  llvm::DenseMap<mlir::Operation *, CountedGroups> countedGroups;
  SiteTable sites;
  int64_t sharedAlignment = 0; ///< bytes
  bool mayFail = false;        ///< there are assertions: who waits for others looks whether one failed
  bool publishes = false;      ///< what is written to shared memory is read by matmuls of warp groups
  bool multiplies = false;     ///< there are matmuls
  bool copiesDirectly = false; ///< there are copies of warps straight to shared memory

  /// `copy` was cloned from `source`, for code that is divergent or not: what is known of one holds for the other.
  void takeOver(mlir::Operation *source, mlir::Operation *copy, bool isDivergent);

private:
  void findGroups(triton::FuncOp function); ///< equal and counted ones
  void lookAt(mlir::Operation *op, const GlobalOrder &order);
};

} // namespace heddle::simt
