// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Registers of a thread as short vectors, and back: what an instruction takes or gives of several values at once.
#pragma once
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace heddle::simt {

/// Values of one type as one vector: the one that they were taken from, or a part of it, where they lay so in it.
mlir::Value joined(mlir::ImplicitLocOpBuilder &b, mlir::ValueRange values);

/// Whether it is a constant of which all bits are 0.
bool isZero(mlir::Value value);

/// The elements of a vector.
llvm::SmallVector<mlir::Value> apart(mlir::ImplicitLocOpBuilder &b, mlir::Value vector);

} // namespace heddle::simt
