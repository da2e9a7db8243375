// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Groups of `tt` operations that more than one room writes.
#pragma once
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace heddle::triton {

/// Whether some element of `bits` holds, an i1: a reduction over a tile of i1 of any rank; a scalar is its own answer.
mlir::Value createAny(mlir::ImplicitLocOpBuilder &b, mlir::Value bits);

} // namespace heddle::triton
