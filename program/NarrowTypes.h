// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Element types that no device computes with: floats of at most 8 bits beyond the formats of GPUs, and integers of less
// than 8 bits. An element takes one byte of memory, which holds its bits. In registers a float is an f32 that the
// format has, and an integer an i8 that is sign- or zero-extended.
#pragma once
#include "frontend/hlo/Shape.h"
#include "frontend/tile/TileWriter.h"

namespace heddle::program {

/// A float that is an f32 in registers: f8e4m3, f8e4m3b11fnuz, f8e3m4, f8e8m0fnu, f4e2m1fn.
bool isCodedFloat(hlo::DType type);
/// s1 to s4, u1 to u4.
bool isSubByteInteger(hlo::DType type);
/// One of these types.
inline bool isNarrow(hlo::DType type) {
  return isCodedFloat(type) || isSubByteInteger(type);
}

/// Of a byte the f32 that its bits stand for.
mlir::Value decodeFloat(tile::TileWriter &writer, mlir::Value bits, hlo::DType type);
/// Of an f32 that the format has, its bits in a byte.
mlir::Value encodeFloat(tile::TileWriter &writer, mlir::Value value, hlo::DType type);
/// An f32 or f64 rounded once to the format, to nearest even; an f32. What is too large is infinity, NaN in a format
/// without, and the largest value in one with neither, where NaN is -0. To f8e8m0fnu, halfway is upward, and zero and
/// negative numbers are NaN.
mlir::Value roundFloat(tile::TileWriter &writer, mlir::Value value, hlo::DType type);

/// The low bits of a byte, extended as the type's sign has it.
mlir::Value wrapInteger(tile::TileWriter &writer, mlir::Value byte, hlo::DType type);

} // namespace heddle::program
