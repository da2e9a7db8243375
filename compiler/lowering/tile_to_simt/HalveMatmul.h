// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The matmul of a loop in two halves along K, each of which has its own reads of shared memory.
#pragma once
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace heddle::simt {

/// Makes two matmuls of the loop's one, along K, so that each holds half of the operands, and copies have until the
/// second to arrive. The results have the same bits. False, and the loop is as before, where that is not possible: the
/// halves of an operand are no halves of a thread's registers, or K is not two of the instruction's.
bool halveMatmul(mlir::scf::ForOp loop);

} // namespace heddle::simt
