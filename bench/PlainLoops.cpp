// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loops as C++ says them: no reassociation of sums.
#include "bench/PlainLoops.h"
#include "bench/PlainSoftmax.h"

void heddle::bench::addVectors(const float *__restrict x, const float *__restrict y, float *__restrict out,
                               int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = x[i] + y[i];
}

void heddle::bench::sumFour(const float *__restrict a, const float *__restrict b, const float *__restrict c,
                            const float *__restrict d, float *__restrict out, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = a[i] + b[i] + c[i] + d[i];
}

void heddle::bench::softmaxRows(const float *x, float *out, int64_t rows, int64_t cols) {
  for (int64_t r = 0; r < rows; ++r)
    softmaxRow(x + r * cols, out + r * cols, cols);
}
