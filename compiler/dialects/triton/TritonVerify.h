// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the verifier files of the `tt` dialect share: shapes of "scalar or tile" and their text in messages.
#pragma once
#include "compiler/dialects/triton/Triton.h"

namespace heddle::triton {

/// `64x32` for a shape, `scalar` when there is none.
std::string shapeText(llvm::ArrayRef<int64_t> shape);
std::string shapeText(mlir::Type type);

/// Dimensions of a tile; none for a scalar.
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Type type) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  return tensor ? tensor.getShape() : llvm::ArrayRef<int64_t>();
}

/// Whether both are scalars, or tiles of one shape.
inline bool haveSameShape(mlir::Type a, mlir::Type b) {
  return llvm::isa<mlir::RankedTensorType>(a) == llvm::isa<mlir::RankedTensorType>(b) && shapeOf(a) == shapeOf(b);
}

/// The i1 tile or scalar that masks an access through `pointer`; encodings do not count.
bool isMaskFor(mlir::Type mask, mlir::Type pointer);
/// Whether `value` may be read or written through `pointer`; encodings do not count.
bool isValueFor(mlir::Type value, mlir::Type pointer);
/// The integer type without its signedness, as tiles have it; other types unchanged.
mlir::Type signless(mlir::Type type);
/// An error of `op` unless elements `offsets` to `offsets + part` of each axis lie within `whole`. All have one rank.
mlir::LogicalResult verifyWithin(mlir::Operation *op, llvm::ArrayRef<int64_t> offsets, llvm::ArrayRef<int64_t> part,
                                 llvm::ArrayRef<int64_t> whole);
/// The same, and unless they begin at a multiple of `part`.
mlir::LogicalResult verifyPart(mlir::Operation *op, llvm::ArrayRef<int64_t> offsets, llvm::ArrayRef<int64_t> part,
                               llvm::ArrayRef<int64_t> whole);
/// An error of `op` if its order `given` is neither `relaxed` nor `other`, the only other one that it may have.
mlir::LogicalResult verifySemantic(mlir::Operation *op, MemSemantic given, MemSemantic other);
/// Whether `order` names each of 0 ... rank - 1 once.
bool isPermutation(llvm::ArrayRef<int32_t> order, size_t rank);

} // namespace heddle::triton
