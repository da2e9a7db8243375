// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products that are marked `simt.group` (AssignLayouts.h) read their operands from shared memory: from the rings that
// pipelined loops have, or from a copy of the tile made for the product. In a pipelined loop the product begins before
// the copies for later iterations do, and is waited for where it stood.
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace heddle::simt {

/// Works on the one public tt.func of `module`, after pipelineLoops.
mlir::LogicalResult shareOperands(mlir::ModuleOp module);

} // namespace heddle::simt
