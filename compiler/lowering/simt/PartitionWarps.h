// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Partitions of a block's warps: which warps execute which, with which barriers and registers, and the code by which
// they get there.
#pragma once
#include "compiler/dialects/simt/Simt.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace heddle::simt {

class GpuTarget;
struct ThreadState;

/// Named barriers of the warps that execute the kernel where there are partitions, and of the first partition. Those
/// before are of all warps, and of warp pipelines.
inline constexpr int64_t barrierOfKernel = 2, barrierOfPartitions = 3;

/// A partition's function, and its warps in the block.
struct Partition {
  std::string name;
  int64_t first, warps;
};

/// Warps whose threads have the same number of registers, with the partitions that they execute. Hardware gives
/// registers to four warps at once: these are so many, or the warps of a partition with all that share four with them.
struct RegisterGroup {
  int64_t first, warps; ///< in the block
  int64_t registers = 0;
  llvm::SmallVector<Partition> partitions = {};
};

/// How many registers threads take where partitions ask for numbers of their own. What partitions leave is the
/// kernel's.
struct RegisterPlan {
  int64_t first = 0;                       ///< that all begin with; 0: nothing is changed
  int64_t kernel = 0;                      ///< of the kernel's warps
  llvm::SmallVector<RegisterGroup> groups; ///< of the warps after them, in order
};

struct PartitionWarps {
  llvm::SmallVector<llvm::SmallVector<Partition>> starts; ///< those of each `simt.start_partitions`, in order
  llvm::SmallVector<triton::FuncOp> functions;            ///< of all of them
  int64_t kernel = 0, block = 0;                          ///< warps of the kernel, and of the block
  RegisterPlan registers;
};

/// What a partition's function says of it.
struct PartitionTraits {
  int64_t warps, firstWarp;
  int64_t registers = 0; ///< that a thread asks for; 0: nothing
};
/// An empty private function, with the kernel's arguments, for a partition; before the insertion point.
triton::FuncOp makePartition(mlir::OpBuilder &b, triton::FuncOp kernel, llvm::StringRef name, PartitionTraits traits);

/// Those of a kernel that has so many warps itself. An error where a partition has warps of another or of the kernel,
/// or is started twice, and where the chip has not as many warps or barriers.
mlir::FailureOr<PartitionWarps> findPartitions(mlir::ModuleOp module, triton::FuncOp kernel, int64_t kernelWarps,
                                               const GpuTarget &target);
/// Warps that are not the kernel's go from partition to partition, in the order in which it starts them: their code is
/// taken into the kernel's, `state.entry`.
void dispatch(ThreadState &state, const PartitionWarps &partitions);

} // namespace heddle::simt
