// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles that are computed again in another layout, without an exchange among threads.
#pragma once
#include "compiler/dialects/simt/Simt.h"

namespace heddle::simt {

/// The layout that operand `number` of `op`, an operation on elements or shapes, needs for its result to have `result`.
layout::LinearLayout operandLayout(mlir::Operation *op, unsigned number, const layout::LinearLayout &result);
/// Whether the threads can compute the one result of `op` in any layout, each the elements that it has, from operands
/// in the layouts that operandLayout() tells.
bool hasAnyLayout(mlir::Operation *op);
/// `op` again, with its result in `layout`; its operands stay what they are.
mlir::Operation *cloneInLayout(mlir::OpBuilder &b, mlir::Operation *op, const layout::LinearLayout &layout);

} // namespace heddle::simt
