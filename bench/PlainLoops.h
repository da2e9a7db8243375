// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loops that a person would write instead of the kernels. They are compiled for this machine, once as C++ says
// (PlainLoops.cpp) and once with -ffast-math (PlainLoopsFast.cpp).
#pragma once
#include <cstdint>

namespace heddle::bench {

void addVectors(const float *x, const float *y, float *out, int64_t count);
/// out = a + b + c + d
void sumFour(const float *a, const float *b, const float *c, const float *d, float *out, int64_t count);
/// Rows of `cols` elements, `cols` apart.
void softmaxRows(const float *x, float *out, int64_t rows, int64_t cols);
void softmaxRowsFast(const float *x, float *out, int64_t rows, int64_t cols);

} // namespace heddle::bench
