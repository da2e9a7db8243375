// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From the tile level to the simt level: every tile gets a layout, and conversions go between those that disagree.
//
// A value has a layout of its own where it is made dear: loads and atomics as memory wants it, matrix products as the
// instruction leaves them, reductions what is left of their operand, and element operations that of their first operand
// with one. Everything else (ranges, constants, splats, addresses, masks, and what is computed from them) is made anew
// in each layout in which somebody needs it, so that conversions are left between dear values only.
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace heddle::simt {

class GpuTarget;

/// Works on the one public tt.func of `module`; `warps` is the number of warps of a block, a power of two. With
/// `warpGroups`, products that groups of warps can make from shared memory are marked `simt.group`, and their operands
/// keep the layouts that they have (ShareOperands.h).
mlir::LogicalResult assignLayouts(mlir::ModuleOp module, const GpuTarget &target, int warps, bool warpGroups);

} // namespace heddle::simt
