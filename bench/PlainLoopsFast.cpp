// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The softmax with -ffast-math, which lets the compiler vectorise its sums: the stronger opponent.
#include "bench/PlainLoops.h"
#include "bench/PlainSoftmax.h"

void heddle::bench::softmaxRowsFast(const float *x, float *out, int64_t rows, int64_t cols) {
  for (int64_t r = 0; r < rows; ++r)
    softmaxRow(x + r * cols, out + r * cols, cols);
}
