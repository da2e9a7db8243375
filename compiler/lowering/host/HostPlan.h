// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decides, before any code is made, which tile values live in memory and which are computed where they are used.
// A value computed at its uses ("lazy") is fused into the loops of its users; a materialised one gets loops of its own.
#pragma once
#include "compiler/dialects/triton/Triton.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace heddle::host {

class HostPlan {
public:
  explicit HostPlan(triton::FuncOp function);

  /// Whether the result `value` of a tile operation is written to a buffer when its operation is reached.
  bool isMaterialised(mlir::Value value) const { return materialised.contains(value); }

  /// The dimension of `value` along which most of the memory accesses of its lazy expression are contiguous.
  /// `pointers`, if given, is the tile of addresses that the value is stored to.
  int preferredDim(mlir::Value value, mlir::Value pointers = {}) const;

  /// Stride of an integer tile (in units) or pointer tile (in elements) along `dim`; nullopt when unknown. A
  /// remainder counts as having its dividend's stride: good for choosing, not for proving.
  std::optional<int64_t> strideAlong(mlir::Value value, int dim) const;

  /// Whether every reader needs element i of `value` only for its own element i.
  bool isReadInPlace(mlir::Value value) const;

  /// Every place that reads `value` through lazy expressions: the operation, and for dots and terminators the operand.
  using Root = std::pair<mlir::Operation *, unsigned>;
  llvm::ArrayRef<Root> rootsOf(mlir::Value value) const;

private:
  void computeCosts(triton::FuncOp function);
  void decideAll(triton::FuncOp function);
  void releaseInexpensive(triton::FuncOp function);
  void decide(mlir::Operation *op);
  void decideLoad(triton::LoadOp load);
  bool hasDistinctElements(mlir::Value pointers) const;
  bool coversEachOnce(mlir::Value pointers) const;
  void addRoots(mlir::Value value);
  struct Ballot {
    llvm::SmallVector<int> votes;        ///< per dimension of the root
    llvm::DenseSet<mlir::Value> counted; ///< each value votes once, however many paths lead to it
  };
  void vote(mlir::Value value, llvm::SmallVector<int> dims, Ballot &ballot) const;
  std::optional<int64_t> computeStride(mlir::Value value, int dim) const;

  struct Uses {
    llvm::SmallVector<Root, 2> roots;
    bool expanded = false;   ///< some path goes through a broadcast that repeats elements
    bool transposed = false; ///< some path moves elements (trans, reshape, join, split, cat, gather)
  };
  llvm::DenseMap<mlir::Value, Uses> uses;
  llvm::DenseMap<mlir::Value, int> cost;
  llvm::DenseSet<mlir::Value> materialised;
  llvm::DenseSet<mlir::Value> chosen; ///< materialised for its cost, not by necessity
  bool settled = false;               ///< `chosen` is final
  llvm::DenseSet<mlir::Value> cuts;   ///< where a long expression ends
  mutable llvm::DenseMap<std::pair<mlir::Value, int>, std::optional<int64_t>> strides; ///< of strideAlong
};

/// Rough number of vector instructions of one application of `op`, 1 for most.
int operationCost(mlir::Operation *op);

/// The kernel argument that a pointer value was computed from by pointer arithmetic; null when it cannot be told.
mlir::Value baseOfPointer(mlir::Value pointer);

} // namespace heddle::host
