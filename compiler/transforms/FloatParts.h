// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles of f32 as sums of tiles of fewer bits, which matrix instructions multiply faster, and matmuls of such sums.
#pragma once
#include "compiler/dialects/triton/Triton.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace heddle {

/// The first `count` tiles of bf16, 8 bits of each element in each, of which all three sum up to `tile` (f32); an
/// infinity is in the first alone.
llvm::SmallVector<mlir::Value, 3> partsInBf16(mlir::ImplicitLocOpBuilder &builder, mlir::Value tile, int count);
/// Two tiles of f32 for tf32: 11 bits, which it holds, and the rest.
llvm::SmallVector<mlir::Value, 3> partsForTf32(mlir::ImplicitLocOpBuilder &builder, mlir::Value tile);

/// `sum` and the products of parts of both sides whose numbers add up to `least` at most, the least parts first.
/// Infinities and NaN are as in one product.
mlir::Value multiplyParts(mlir::ImplicitLocOpBuilder &builder, llvm::ArrayRef<mlir::Value> a,
                          llvm::ArrayRef<mlir::Value> b, mlir::Value sum, size_t least,
                          triton::InputPrecision precision = triton::InputPrecision::IEEE);

} // namespace heddle
