// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One plain loop nest for each kernel, which shares nothing with the compiler.
#include "examples/builder/PlainKernels.h"
#include <algorithm>
#include <cmath>

namespace heddle::plain {

Numbers numbers(size_t count, uint32_t seed) {
  Numbers values(count);
  for (double &value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = (int(seed >> 24) - 128) / 128.0;
  }
  return values;
}

Numbers add(const Numbers &x, const Numbers &y) {
  Numbers sums(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    sums[i] = x[i] + y[i];
  return sums;
}

Numbers softmaxOfRows(const Numbers &x, int rows, int columns, int stride) {
  Numbers result(x.size());
  for (int r = 0; r < rows; ++r) {
    auto first = x.begin() + r * stride;
    double largest = *std::max_element(first, first + columns), sum = 0;
    for (int c = 0; c < columns; ++c)
      sum += std::exp(first[c] - largest);
    for (int c = 0; c < columns; ++c)
      result[r * stride + c] = std::exp(first[c] - largest) / sum;
  }
  return result;
}

Numbers multiply(const Numbers &a, const Numbers &b, int M, int N, int K) {
  Numbers c(M * N);
  for (int i = 0; i < M; ++i)
    for (int k = 0; k < K; ++k)
      for (int j = 0; j < N; ++j)
        c[i * N + j] += a[i * K + k] * b[k * N + j];
  return c;
}

Normalised normaliseRows(const Numbers &x, const Numbers &weights, const Numbers &biases, int rows, int N, int stride,
                         double epsilon) {
  Normalised result{Numbers(x.size()), Numbers(rows), Numbers(rows)};
  for (int r = 0; r < rows; ++r) {
    const double *row = &x[r * stride];
    double mean = 0, variance = 0;
    for (int c = 0; c < N; ++c)
      mean += row[c] / N;
    for (int c = 0; c < N; ++c)
      variance += (row[c] - mean) * (row[c] - mean) / N;
    result.means[r] = mean;
    result.inverses[r] = 1 / std::sqrt(variance + epsilon);
    for (int c = 0; c < N; ++c)
      result.y[r * stride + c] = (row[c] - mean) * result.inverses[r] * weights[c] + biases[c];
  }
  return result;
}

Numbers attendCausally(const Numbers &q, const Numbers &k, const Numbers &v, int heads, int T, int D, double scale) {
  Numbers result(heads * T * D);
  for (int h = 0; h < heads; ++h)
    for (int i = 0; i < T; ++i) {
      double *out = &result[(h * T + i) * D], sum = 0;
      for (int j = 0; j <= i; ++j) {
        double score = 0;
        for (int d = 0; d < D; ++d)
          score += q[(h * T + i) * D + d] * k[(h * T + j) * D + d];
        double weight = std::exp(score * scale);
        sum += weight;
        for (int d = 0; d < D; ++d)
          out[d] += weight * v[(h * T + j) * D + d];
      }
      for (int d = 0; d < D; ++d)
        out[d] /= sum;
    }
  return result;
}

} // namespace heddle::plain
