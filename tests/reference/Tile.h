// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The value of an SSA value: a type and the bit pattern of each element, row-major, zero-extended to 64 bits. A scalar
// is a tile of one element; block pointers and descriptors keep their fields in the same list (BlockOps.cpp).
#pragma once
#include "mlir/IR/BuiltinTypes.h"
#include "tests/reference/SoftFloat.h"
#include <vector>

namespace heddle::reference {

struct Tile {
  mlir::Type type;
  std::vector<uint64_t> bits;

  mlir::Type elementType() const;
  llvm::ArrayRef<int64_t> shape() const; ///< empty for a scalar
  int64_t size() const { return int64_t(bits.size()); }
};

/// Elements of a value of this type: 1 for a scalar.
int64_t elementCount(mlir::Type type);
/// Bits of one element; 64 for a pointer.
unsigned elementWidth(mlir::Type type);
/// Bytes of one element in memory: i1 takes one.
unsigned elementBytes(mlir::Type type);
/// The software format of a floating-point element type.
const FloatFormat &formatOf(mlir::Type type);
/// A tile of `type` with the same bits in every element.
Tile filled(mlir::Type type, uint64_t bits);

inline uint64_t truncateBits(uint64_t bits, unsigned width) {
  return width >= 64 ? bits : bits & ((uint64_t(1) << width) - 1);
}
inline int64_t signExtend(uint64_t bits, unsigned width) {
  return width >= 64 ? int64_t(bits) : int64_t(bits << (64 - width)) >> (64 - width);
}

/// Element `index` as a signed integer.
int64_t signedAt(const Tile &tile, int64_t index);

/// Row-major coordinates of element `linear`, and back.
std::vector<int64_t> unravel(int64_t linear, llvm::ArrayRef<int64_t> shape);
int64_t ravel(llvm::ArrayRef<int64_t> coordinates, llvm::ArrayRef<int64_t> shape);

} // namespace heddle::reference
