// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// TTGIR as Triton prints it becomes simt IR: the layouts that it has are kept.
#pragma once
#include "compiler/lowering/simt/GpuTarget.h"
#include "mlir/IR/BuiltinOps.h"

namespace heddle::simt {

/// What a module of TTGIR says of itself.
struct TtgModule {
  std::string target; ///< `gfx950`
  int warps = 0;      ///< of a block
  int lanes = 0;      ///< of a warp
};
/// Nothing for a module of plain Triton IR, which has none of the attributes; an error where one is missing or makes no
/// sense. Texts are those of Triton 3.9.
mlir::FailureOr<std::optional<TtgModule>> describeTtgModule(mlir::ModuleOp module);

/// An error, at its location, for the first operation that has no way to a GPU yet.
mlir::LogicalResult refuseUnsupported(mlir::ModuleOp module);
/// Puts pipeline stages, which are regions of their own, where they stand, with a border at the end of each. Other
/// scheduling barriers, and priorities, become operations of `simt`, whose rules are checked. Nothing has been refused.
mlir::LogicalResult borderStages(mlir::ModuleOp module);
/// Makes `simt.stage` of what stands between the borders of each loop, and of each function outside its loops. An error
/// where that is a single stage.
mlir::LogicalResult makeStages(triton::FuncOp function);
/// Partitions of specialised warps use captured values as they are; nothing has been refused.
void dropCaptures(mlir::ModuleOp module);
/// Makes a function of each partition, and of the default region the kernel's own code: `simt.start_partitions`. Tiles
/// have the types of this level. An error where a partition uses a tile from outside that it cannot compute itself.
mlir::LogicalResult makePartitions(mlir::ModuleOp module, triton::FuncOp kernel, const TtgModule &about);
/// Gives a layout to every tile of `#gluon.auto_encoding` or `#gluon.coalesced_encoding`. Calls have been inlined.
mlir::LogicalResult resolveLayouts(mlir::ModuleOp module, const TtgModule &about);
/// Replaces the types and operations of `ttg` and `amdg`.
mlir::LogicalResult convertTtgToSimt(mlir::ModuleOp module, const GpuTarget &target, const TtgModule &about);
/// Inserts conversions around operations whose operands and results have layouts that do not follow from each other.
void fitLayouts(triton::FuncOp function, const GpuTarget &target, int warps);

} // namespace heddle::simt
