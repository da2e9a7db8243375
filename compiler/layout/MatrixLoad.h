// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles in shared memory that matrix instructions read: where their elements lie, and which register layouts a warp's
// matrix loads (ldmatrix) fill. Source: PTX ISA, "ldmatrix"; DESIGN's fact sheet on layouts, sections 5 and 8.
#pragma once
#include "compiler/layout/Encodings.h"
#include <optional>

namespace heddle::layout {

/// A layout of shared memory for a tile that is copied in runs of 16 bytes along order[0] and read by matrix
/// instructions, both without bank conflicts: rows of up to 128 bytes in groups of 16 bytes that are xor'ed by the row.
/// Elements of 8 to 64 bits.
LinearLayout matrixShared(const Shape &shape, int elementBits, const Order &order);

/// How a warp loads four matrices of 8 rows of 16 bytes at once. Lane 8j + i names row i of matrix j.
struct MatrixLoad {
  /// Rows of memory become columns of registers: 16-bit elements only.
  bool transposed = false;
  /// Elements in a 32-bit word of the result: the lowest register bits.
  int64_t wordElements = 1;
  /// Which two bits of the register number count the four words of the result.
  int matrixBits[2] = {-1, -1};
  /// (register, lane, warp) -> offset: where the row begins that a lane names, in elements. The registers are those of
  /// the result; only numbers without the bits of words and matrices mean something.
  LinearLayout rows;
};

/// `offsets` maps (register, lane, warp) to the offset of the element that is wanted there. Nothing when no matrix load
/// gives this.
std::optional<MatrixLoad> findMatrixLoad(const LinearLayout &offsets, int elementBits);

/// How a warp reads elements of 4, 8 or 16 bits across the rows of memory (ds_read_b64_tr, CDNA 4): each of 16 lanes
/// reads 64 contiguous bits; what they read, one after the other, is a matrix with rows of 16 elements, and each of
/// them gets a column.
struct TransposedRead {
  int registerBits; ///< that one instruction fills, the lowest
  /// (register, lane, warp) -> offset: what a lane reads for the lanes of its group of 16. The registers are those of
  /// the result; only those whose lowest bits are 0 are used.
  LinearLayout addresses;
};

/// `offsets` maps (register, lane, warp) to the offset of the element that is wanted there. Nothing where no such reads
/// give it.
std::optional<TransposedRead> findTransposedRead(const LinearLayout &offsets, int elementBits);

/// A layout of shared memory for a tile that copies of whole warps fill with contiguous bytes, and that is read by 16
/// bytes along order[0] without bank conflicts: rows along order[0], whose groups of 16 bytes are xor'ed by the row.
/// Elements of 8 to 64 bits; `banks` of 4 bytes.
LinearLayout copiedShared(const Shape &shape, int elementBits, const Order &order, int banks);

/// The same for a tile of two axes that findTransposedRead's instructions read into `wanted`, (register, lane, warp) ->
/// coordinates: groups of 16 elements are xor'ed by the bits in which the rows differ that 32 lanes read at once.
LinearLayout copiedSharedTransposed(const LinearLayout &wanted, int elementBits, const Order &order, int banks);

} // namespace heddle::layout
