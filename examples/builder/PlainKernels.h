// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the kernels of tests/corpus must give, as plain loops in f64: for the examples here and for the numerical tests.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::plain {

using Numbers = std::vector<double>;

/// Numbers in [-1, 1) on a grid of 1/128: exact in bf16 and wider.
Numbers numbers(size_t count, uint32_t seed);

Numbers add(const Numbers &x, const Numbers &y);

/// The softmax of the first `columns` numbers of each row; zeros after them, up to `stride`.
Numbers softmaxOfRows(const Numbers &x, int rows, int columns, int stride);

/// a[M, K] * b[K, N]
Numbers multiply(const Numbers &a, const Numbers &b, int M, int N, int K);

struct Normalised {
  Numbers y, means, inverses; ///< `inverses` of the standard deviations
};
/// Rows of N numbers, `stride` apart, of mean 0 and variance 1, times `weights`, plus `biases`.
Normalised normaliseRows(const Numbers &x, const Numbers &weights, const Numbers &biases, int rows, int N, int stride,
                         double epsilon);

/// softmax(q k^T * scale) v for each head, where row i attends to rows 0 to i; all [heads, T, D]. Scores must be small:
/// no maximum is subtracted.
Numbers attendCausally(const Numbers &q, const Numbers &k, const Numbers &v, int heads, int T, int D, double scale);

} // namespace heddle::plain
