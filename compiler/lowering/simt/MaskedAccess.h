// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Accesses of global memory under a mask, as LLVM's own masked operations. The mask stays an operand until the chip's
// instructions are written: LLVM's optimiser knows what such an operation reads and writes, and a phase of each vendor
// replaces it (compiler/accesses).
#pragma once
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace heddle::simt {

/// What is at `pointer` where `mask` (i1) is set, elsewhere `other`; its type is an integer or a vector of integers,
/// and `pointer` is aligned to its size.
mlir::Value maskedLoad(mlir::ImplicitLocOpBuilder &b, mlir::Value pointer, mlir::Value mask, mlir::Value other);
/// Stores `value`, of such a type, where `mask` is set.
void maskedStore(mlir::ImplicitLocOpBuilder &b, mlir::Value value, mlir::Value pointer, mlir::Value mask);

} // namespace heddle::simt
