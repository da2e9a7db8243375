// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Program order of accesses to global memory: a program's operations happen on whole tiles, one after the other, but
// each thread does its part when it comes there. Where one thread may read or write what another one of the block wrote
// or read before, a barrier is needed between them.
#pragma once
#include "compiler/dialects/simt/Simt.h"

namespace heddle::simt {

/// The threads of a block.
struct BlockShape {
  int lanes = 32; ///< of a warp
  int warps = 4;

  /// What a function of the module is executed by: the block, or a partition of it.
  BlockShape of(mlir::Operation *function) const { return {lanes, warpsOf(function, warps)}; }
  /// Bits of a thread's number that are 0 in the first of the threads that hold an element, its owner; 0 where no two
  /// threads hold the same element. Every thread holds a scalar.
  uint64_t copies(mlir::Type type) const;
  uint64_t copies(const layout::LinearLayout &layout) const;
};

/// What a pointer, or a tile of them, was made from: an argument of the kernel, or a value that may point anywhere.
mlir::Value rootOf(mlir::Value pointer);
/// Whether such a value is a pointer that the kernel is given: these point to memory of their own.
bool isKernelArgument(mlir::Value root);

struct GlobalAccess {
  mlir::Operation *op = nullptr;
  mlir::Value pointer, root;
  mlir::Value base; ///< of a buffer access, whose `pointer` is its offsets
  bool reads = false, writes = false;
  bool isScalar = false, byOwner = false;       ///< byOwner: done once, not by every thread that has a copy
  std::optional<triton::RMWOp> unorderedUpdate; ///< an atomic whose result nothing reads
  bool releases = false;                        ///< what came before is over in every thread
  bool acquires = false;                        ///< what comes after waits for every thread's part of it

  bool isFence() const { return !reads && !writes; }
};

class GlobalOrder {
public:
  GlobalOrder(triton::FuncOp function, BlockShape block);

  static bool isAccess(mlir::Operation *op);
  GlobalAccess accessOf(mlir::Operation *op) const;
  /// Whether a barrier is needed between two accesses; `isStale`: the pointers of the earlier one are those of another
  /// iteration.
  bool needsBarrier(const GlobalAccess &earlier, bool isStale, const GlobalAccess &later) const;

  /// Whether `op` reads what others write at the same time: its threads must not see different values of it.
  bool mustAgree(GlobalLoadOp op) const;
  /// Whether only the thread that does the program's scalar effects loads it: what the program only reads may come
  /// early, and into scalar registers.
  bool isLoadedByOwner(GlobalLoadOp op) const;

private:
  bool mayConflict(const GlobalAccess &earlier, bool isStale, const GlobalAccess &later) const;

  triton::FuncOp function;
  BlockShape block;
  bool ordersItself = false; ///< a program between devices
  bool writesOnce = false;   ///< peer::writesOnceAttribute
};

/// Whether the results of `op` are scalars that only the one thread needs which does the program's scalar effects: a
/// sum over a tile that is stored, or a number in memory that a program adds to. Other threads have nothing in its
/// place, so that it must not decide whether they store.
bool isForOwner(mlir::Operation *op);

} // namespace heddle::simt
