// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The shared memory of a kernel that is being emitted: each use gets a buffer of its own, and the threads meet wherever
// they might have to. When all is emitted, finish() gives the buffers their places and leaves out the meetings that
// nothing needs.
#pragma once
#include "compiler/lowering/simt/GpuTarget.h"
#include "compiler/lowering/simt/SharedFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace heddle::simt {

class SharedMemory {
public:
  SharedMemory(const GpuTarget &target, int warps) : target(target), warps(warps) {}

  /// The first byte that new buffers may use. Whoever has bytes below it orders the accesses to them himself.
  int64_t firstByte = 0;
  /// Nobody has the bytes below `firstByte` any more: all threads have met since their last use. There is no way back
  /// to where they were used.
  void freeBytesBelow() { ownedBytes = std::exchange(firstByte, 0); }
  int64_t alignment = 16; ///< of byte 0

  /// The kernel's shared memory as a whole, from byte 0; made at `prologue`.
  mlir::Value base(mlir::ImplicitLocOpBuilder &b, mlir::LLVM::LLVMFuncOp entry, mlir::Operation *prologue);
  /// A new buffer. Everything that is loaded and stored through pointers that are computed from the result counts as a
  /// use of it.
  mlir::Value allocate(mlir::ImplicitLocOpBuilder &b, mlir::LLVM::LLVMFuncOp entry, mlir::Operation *prologue,
                       int64_t bytes, bool perWarp);
  /// The threads of the block meet, if it turns out that they have to. All come here, or none.
  mlir::Operation *meet(mlir::ImplicitLocOpBuilder &b);
  /// They have to, whatever shared memory needs.
  void keep(mlir::Operation *meeting) { meetings.erase(meeting); }

  /// Returns the bytes that the kernel needs. `entry` is all emitted, still with structured control flow.
  int64_t finish(mlir::LLVM::LLVMFuncOp entry);

private:
  struct Buffer {
    mlir::arith::ConstantOp start;
    int64_t bytes;
    bool perWarp;
    int64_t first;
  };
  friend class SharedFlowBuilder;

  const GpuTarget &target;
  int warps;
  int64_t ownedBytes = 0; ///< were not for buffers until they were freed
  mlir::LLVM::GlobalOp symbol;
  mlir::Value whole;
  std::vector<Buffer> buffers;
  llvm::DenseMap<mlir::Value, unsigned> numbers; ///< of the buffers, by their first byte's pointer
  llvm::DenseSet<mlir::Operation *> meetings;    ///< that may be left out
};

} // namespace heddle::simt
