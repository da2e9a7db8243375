// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions, and a loop that carries nothing: each program takes every count-th row.
#include "examples/builder/Kernels.h"
#include "frontend/build/Build.h"
#include <limits>

using namespace heddle::build;

Program heddle::examples::rowSoftmax() {
  return kernel("row_softmax", {aligned("out"), aligned("x"), "stride_out", "stride_x", "rows", "cols"},
                [](Pointer<f32> out, Pointer<f32> x, Scalar<i32> strideOut, Scalar<i32> strideX, Scalar<i32> rows,
                   Scalar<i32> cols) {
                  auto column = range<1024>();
                  auto inside = column < cols;
                  auto softmaxOfRow = [&](Scalar<i32> r) {
                    auto values = load(x + r * strideX + column, inside, -std::numeric_limits<float>::infinity());
                    auto powers = exp(values - max(values));
                    store(out + r * strideOut + column, powers / sum(powers), inside);
                  };
                  forRange(programId(), rows, programCount(), softmaxOfRow, {.stages = 2});
                });
}
