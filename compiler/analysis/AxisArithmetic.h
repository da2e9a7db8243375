// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rules of integer arithmetic for axis facts. Used by AxisRules.cpp only.
#pragma once
#include "compiler/analysis/AxisInfo.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace heddle::analysis {

/// The facts about integer arithmetic, comparisons and `tt.addptr`; none for other operations.
std::optional<AxisInfo> infoOfArithmetic(mlir::OpResult result, llvm::ArrayRef<const AxisInfo *> operands);
/// One of two values by a scalar or a tile of conditions; an operand without facts may be chosen freely.
std::optional<AxisInfo> infoOfSelect(mlir::arith::SelectOp op, llvm::ArrayRef<const AxisInfo *> operands);

} // namespace heddle::analysis
