// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Producer warps. The tiles of a kernel's loops are copied to rings by a partition of the block's warps, which computes
// the addresses of each iteration again and prefetches as far as the rings allow.
// Two rings of barrier objects for each group of copies order the two sides:
//   landed   the copies of an iteration can be read. Each thread that copies arrives when its copies have landed.
//   free     tiles may be overwritten. Each warp that multiplies arrives, after it has waited for `landed`.
// A group whose tiles are read in their own iteration has an object for each stage, and `free` tells that the iteration
// is over: rings that are read late have a tile more. A group that is read an iteration later has one for each tile.
// Consecutive loops have the same rings, and continue where the preceding one ended.
#pragma once
#include "compiler/lowering/tile_to_simt/LoopPipeliner.h"

namespace heddle::simt {

inline constexpr int64_t producerWarps = 4;

/// Whether a loop may have one: the block executes the loop once, other warps can compute the addresses of the copies,
/// and what these read is not written between `first`, the first loop that has the same partition, and the loop.
/// `slice`: of the copies.
bool canHaveProducer(mlir::scf::ForOp loop, mlir::scf::ForOp first, llvm::ArrayRef<RingCopy> copies,
                     const LoopSlice &slice);

/// What a loop carries: for rings of each size, of tiles or of barrier objects, the number of the one that the
/// iteration uses, and the parity of its phase.
class RingCounters {
public:
  explicit RingCounters(llvm::ArrayRef<int64_t> sizes) : sizes(sizes.begin(), sizes.end()) {}
  /// For the first iteration.
  llvm::SmallVector<mlir::Value> first(mlir::ImplicitLocOpBuilder &b, int64_t parity) const;
  /// For the iteration after that with these.
  llvm::SmallVector<mlir::Value> next(mlir::ImplicitLocOpBuilder &b, mlir::ValueRange counters) const;
  size_t count() const { return 2 * sizes.size(); }
  mlir::Value numberIn(int64_t size, mlir::ValueRange counters) const { return counters[indexOf(size)]; }
  mlir::Value parityIn(int64_t size, mlir::ValueRange counters) const { return counters[indexOf(size) + 1]; }

private:
  size_t indexOf(int64_t size) const { return 2 * size_t(llvm::find(sizes, size) - sizes.begin()); }

  llvm::SmallSetVector<int64_t, 2> sizes;
};

/// Of a group of copies.
struct ProducerObjects {
  AllocOp landed, free;
  int64_t count; ///< of objects in each
};

/// The partition of a kernel that copies for its loops, which are added in their order.
class ProducerWarps {
public:
  ProducerWarps(triton::FuncOp kernel, int64_t kernelWarps, int64_t lanes)
      : kernel(kernel), kernelWarps(kernelWarps), lanes(lanes) {}

  /// The memory and the start of the partition, before the first loop; the copies get their rings, which have so many
  /// tiles, and the groups as many barrier objects as `objects` says. Adds the loop's copies to the partition.
  void add(mlir::scf::ForOp loop, llvm::MutableArrayRef<RingCopy> copies, llvm::ArrayRef<int64_t> tiles,
           llvm::ArrayRef<int64_t> objectCounts, const LoopSlice &slice);
  /// Of the loop that was added last: what it carries first.
  mlir::ValueRange firstCounters() const { return counters; }
  const RingCounters &ringCounters() const { return *sizes; }
  llvm::ArrayRef<ProducerObjects> groups() const { return objects; }
  /// The operation that replaced that loop, and what it carries in the end.
  void setDone(mlir::Operation *loop, mlir::ValueRange lastCounters);
  /// After all loops.
  void finish();

private:
  void begin(mlir::scf::ForOp loop, llvm::ArrayRef<RingCopy> copies, llvm::ArrayRef<int64_t> tiles,
             llvm::ArrayRef<int64_t> objectCounts);

  triton::FuncOp kernel, partition = {};
  int64_t kernelWarps, lanes;
  llvm::SmallVector<AllocOp> rings;
  llvm::SmallVector<ProducerObjects> objects;
  std::optional<RingCounters> sizes;
  llvm::SmallVector<mlir::Value> counters, partitionCounters;
  mlir::IRMapping known; ///< of the kernel's values outside of loops, in the partition
  mlir::Operation *last = nullptr;
};

} // namespace heddle::simt
