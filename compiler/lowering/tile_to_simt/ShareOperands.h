// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products by warp groups (`simt.dot ... warp_groups`) read their operands from shared memory: from the rings that
// pipelined loops have, or from a copy of the tile made for the product. In a pipelined loop the product begins before
// the copies for later iterations do, and is waited for where it stood.
#pragma once
#include "compiler/dialects/simt/Simt.h"
#include "mlir/IR/BuiltinOps.h"

namespace heddle::simt {

/// The tile that an operand (0: A, 1: B) of a product is, or whose transpose it is.
struct OperandTile {
  mlir::Value tile;
  bool transposed;
  int axisK; ///< of the tile, which the product sums over
};
OperandTile operandTile(MatrixDotOp dot, int operand);

/// Whether groups of warps can read a tile where it lies in such a ring: as it is swizzled, and elements of 8 bits
/// along K. Otherwise the product needs a copy.
bool groupsReadRing(SharedType ring, int axisK);

/// Works on the one public tt.func of `module`, after pipelineLoops.
mlir::LogicalResult shareOperands(mlir::ModuleOp module);

} // namespace heddle::simt
