// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The inner loops of matrix instructions in f32, for what every processor of the simulator has and for AVX-512. Both
// give the same bits: each element is summed in order of k with one fused step each.
#pragma once
#include <cstdint>

namespace heddle::simulator {

/// A is [k][m], B [k][n], C [m][n]; n is 4, 16 or 32, and m a multiple of 4.
struct BlockShape {
  unsigned m, n, k;
};

/// Sums of a block, and the factors by which each row and each column of them is multiplied.
struct ScaledSums {
  const float *sums;
  const double *rowScales, *columnScales;
};

struct MatrixKernels {
  /// c += a b.
  void (*multiply)(const float *a, const float *b, float *c, const BlockShape &shape);
  /// Each element of `c` gets its scaled sum, rounded once more to f32.
  void (*addScaled)(const ScaledSums &sums, float *c, const BlockShape &shape);
  /// Of 64 lanes, the code that begins at bit `shift` of each one's word: 4 bits of fp4, 8 bits of a table's format.
  void (*decodeFp4)(const uint32_t *words, unsigned shift, float *values);
  void (*decodeByte)(const uint32_t *words, unsigned shift, const float *table, float *values);
};

const MatrixKernels &plainMatrixKernels();
/// Null on a processor without AVX-512.
const MatrixKernels *wideMatrixKernels();
/// The best of these.
const MatrixKernels &matrixKernels();

} // namespace heddle::simulator
