// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A matmul in parts along K, each of which has its own reads of shared memory.
#pragma once
#include "compiler/dialects/simt/Simt.h"

namespace heddle::simt {

/// Makes `parts` matmuls (a power of two) of the one of a block, along K, so that each holds its part of the operands,
/// and what is in flight to shared memory has until the last to arrive. The results have the same bits. False, and the
/// block is as before, where that is not possible: the parts of an operand are no parts of a thread's registers, or K
/// is not so many of the instruction's.
bool splitMatmul(mlir::Block &body, int parts);
/// Whether that is possible where tiles in shared memory are read as the operands lie in registers.
bool canSplit(MatrixDotOp dot, int parts);

} // namespace heddle::simt
