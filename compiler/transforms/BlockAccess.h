// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of strided tensors in terms of pointer tiles: what block pointers and tensor descriptors have in common, and
// the conversion that carries their parts as several values through control flow.
#pragma once
#include "compiler/dialects/triton/Triton.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/DialectConversion.h"

namespace heddle::triton {

/// offset, offset + 1, ..., offset + size - 1 as a one-dimensional i64 tile. `offset` is an i32 or i64 scalar.
mlir::Value consecutive(mlir::ImplicitLocOpBuilder &builder, mlir::Value offset, int64_t size);

/// `value`, or its sign-extension, as i64; scalar or tile.
mlir::Value toI64(mlir::ImplicitLocOpBuilder &builder, mlir::Value value);

/// The tile of pointers that an access goes through, and its mask; null when nothing is checked.
struct Access {
  mlir::Value pointers, mask;
};

/// Access to the elements base + sum over d of coordinates[d] * strides[d]. Each of `coordinates` is a one-dimensional
/// i64 tile that gives the size of its dimension; strides are i64 scalars. The mask says whether
/// 0 <= coordinates[d] < shape[d] for each dimension d in `checked`; `shape` holds i32 or i64 scalars.
Access accessAt(mlir::ImplicitLocOpBuilder &builder, mlir::Value base, mlir::ValueRange coordinates,
                mlir::ValueRange shape, mlir::ValueRange strides, llvm::ArrayRef<int32_t> checked);

/// The coordinates of a block of the given sizes that begins at `offsets`.
llvm::SmallVector<mlir::Value> coordinatesOf(mlir::ImplicitLocOpBuilder &builder, mlir::ValueRange offsets,
                                             llvm::ArrayRef<int64_t> sizes);

/// The error for argument `index`, which is `what`: a kernel can do `instead`, another function should be inlined.
mlir::LogicalResult refuseArgument(FuncOp function, size_t index, llvm::StringRef what, llvm::StringRef instead);

/// The tile of zeros, or of NaN, of a float or integer type (NaN of floats only).
mlir::Value paddingTile(mlir::ImplicitLocOpBuilder &builder, mlir::RankedTensorType type, PaddingOption padding);

/// Applies `patterns`, which replace the operations on values whose types `converter` splits, and carries the parts
/// through scf operations, selects and poison. Afterwards no operation below `root` has such types.
mlir::LogicalResult convertParts(mlir::Operation *root, const mlir::TypeConverter &converter,
                                 mlir::RewritePatternSet &&patterns);

} // namespace heddle::triton
