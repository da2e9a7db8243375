// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops over dependent matmuls whose rows do not fit into registers, on tiles of half the rows, one after the other.
#pragma once
#include "compiler/dialects/triton/Triton.h"

namespace heddle::simt {

class GpuTarget;

/// Before layouts are assigned: a loop as of attention, of which a matmul's result, what is made of it for the second
/// matmul, and the sums take more registers than a thread has, computes one half of its rows after the other in each
/// iteration. Then only the sums, and one half of the rest, are in registers at once. Only where one warp group
/// multiplies rows of at least two instructions, of which a half is one register's bit: nothing is exchanged for it.
void splitRows(triton::FuncOp function, const GpuTarget &target, int warps);

} // namespace heddle::simt
