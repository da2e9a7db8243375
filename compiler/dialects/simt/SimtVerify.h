// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the files with rules of the `simt` dialect share.
#pragma once
#include "compiler/dialects/simt/Simt.h"

namespace heddle::simt {

/// Of an access to global memory by pointers; `values` and `mask` may be null.
mlir::LogicalResult verifyAccess(mlir::Operation *op, mlir::Type pointer, int64_t elements, int64_t axis,
                                 mlir::ValueRange values, mlir::Value mask);
/// Of an atomic update of elements of this type.
mlir::LogicalResult verifyUpdate(mlir::Operation *op, triton::RMWOp kind, mlir::Type element);

} // namespace heddle::simt
