// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stands in for the host lowering in a build that has none.
#include "compiler/lowering/host/TileToHost.h"

mlir::LogicalResult heddle::host::lowerTileToHost(mlir::ModuleOp module, const LoweringOptions &, LoweredKernel &) {
  return module.emitError("this build has no lowering to the host");
}
mlir::LogicalResult heddle::host::convertHostToLlvm(mlir::ModuleOp) { return mlir::failure(); }
