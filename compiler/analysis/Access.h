// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How the threads of a program divide a tile that they read from or write to memory: along which axis contiguous
// elements lie, and how many of them one thread takes. Source: DESIGN's fact sheet on layouts, "coalescing".
#pragma once
#include "compiler/analysis/AxisInfo.h"
#include <vector>

namespace heddle::analysis {

using Order = std::vector<int>; ///< axes, the fastest first

/// How many contiguous elements along the first axis of `order` one access through `pointer` may take: they are
/// contiguous, the first is aligned to their size, and `mask` (may be null) is the same for all. 1 for scalars.
int64_t alignedElements(const AxisAnalysis &facts, mlir::Value pointer, mlir::Value mask, const Order &order);
/// The axes of a tile of pointers by decreasing contiguity; of equals the later is the faster.
Order accessOrder(const AxisAnalysis &facts, mlir::Value pointer);

struct AccessLayout {
  Order order;
  std::vector<int64_t> sizePerThread; ///< elements along each axis; more than 1 along the fastest only
};

/// The choice for all accesses of a module or a function. `facts` must outlive it and be of the same IR.
class AccessAnalysis {
public:
  AccessAnalysis(mlir::Operation *root, const AxisAnalysis &facts);
  /// `op` is a load, store, atomic or descriptor access. A thread takes as many elements as the widest access of this
  /// shape and order that exchanges tiles with `op`, but not more than its share of the tile, and stores and atomics
  /// not more than 128 bits; contiguous elements that a mask may tell apart count one by one. For an access to a single
  /// element, and any other operation, both lists are empty.
  AccessLayout chooseAccess(mlir::Operation *op, int64_t numThreads) const;

private:
  struct Access {
    int slice; ///< accesses of one slice compute with each other's tiles
    Order order;
    int64_t perThread;
  };

  llvm::DenseMap<mlir::Operation *, Access> accesses;
};

} // namespace heddle::analysis
