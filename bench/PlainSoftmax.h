// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The body of both softmax loops, so that they differ by their compile flags only.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

static inline void softmaxRow(const float *__restrict x, float *__restrict out, int64_t cols) {
  float largest = x[0];
  for (int64_t c = 1; c < cols; ++c)
    largest = std::max(largest, x[c]);
  float sum = 0;
  for (int64_t c = 0; c < cols; ++c) {
    out[c] = std::exp(x[c] - largest);
    sum += out[c];
  }
  for (int64_t c = 0; c < cols; ++c)
    out[c] /= sum;
}
