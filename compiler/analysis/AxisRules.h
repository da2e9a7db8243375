// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What each operation makes of the facts about its operands, and what remains where two flows of control meet. Used by
// the fixpoint in AxisInfo.cpp only.
#pragma once
#include "compiler/analysis/AxisInfo.h"

namespace heddle::analysis {

/// The largest power of two that divides `value`.
int64_t powerIn(int64_t value);
/// The shape of a tile; {1} for anything else.
llvm::ArrayRef<int64_t> shapeOf(mlir::Type type);

AxisInfo unknownInfo(mlir::Type type);
AxisInfo constantInfo(mlir::Type type, int64_t value);
/// What holds for a value of `type` that is either of the two.
AxisInfo join(mlir::Type type, const AxisInfo &left, const AxisInfo &right);
/// Cuts lengths to the shape and to what survives in narrow integers, and spreads what divides everything to all axes.
void normalise(mlir::Type type, AxisInfo &info);
/// The hints `tt.divisibility`, `tt.contiguity` and `tt.constancy` replace what was computed.
void applyHints(mlir::DictionaryAttr hints, AxisInfo &info);

/// The facts about result `result` of `op`, which has no regions and takes part in no control flow. Operands whose
/// facts are null are poison or not yet computed. None if nothing can be said yet, for the same reason.
std::optional<AxisInfo> computeInfo(mlir::OpResult result, llvm::ArrayRef<const AxisInfo *> operands);

} // namespace heddle::analysis
