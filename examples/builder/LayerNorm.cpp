// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Three passes over a row of any length: loops that carry a tile, and conversions between bf16 and f32.
#include "examples/builder/Kernels.h"
#include "frontend/build/Build.h"

using namespace heddle::build;

template <int64_t block>
static Program layerNormOf() {
  return kernel(
      "layer_norm",
      {aligned("x"), aligned("y"), aligned("w"), aligned("b"), aligned("mean"), aligned("rstd"), "stride", "N", "eps"},
      [](Pointer<bf16> x, Pointer<bf16> y, Pointer<bf16> w, Pointer<bf16> b, Pointer<f32> means, Pointer<f32> inverses,
         Scalar<i32> stride, Scalar<i32> N, Scalar<f32> eps) {
        auto row = programId();
        x += row * stride;
        y += row * stride;
        auto columns = [](Scalar<i32> first) { return first + range<block>(); };
        auto values = [&](Tile<i32, block> c) { return cast<f32>(load(x + c, c < N, 0)); };
        auto none = zeros<f32, block>();
        auto count = cast<f32>(N);

        auto sums =
            forRange(0, N, block, none, [&](Scalar<i32> first, auto sums) { return sums + values(columns(first)); });
        auto mean = sum(sums) / count;

        auto squares = forRange(0, N, block, none, [&](Scalar<i32> first, auto squares) {
          auto c = columns(first);
          auto difference = select(c < N, values(c) - mean, 0);
          return squares + difference * difference;
        });
        auto inverse = 1 / sqrt(sum(squares) / count + eps);

        store(means + row, mean);
        store(inverses + row, inverse);
        forRange(0, N, block, [&](Scalar<i32> first) {
          auto c = columns(first);
          auto scale = cast<f32>(load(w + c, c < N)), shift = cast<f32>(load(b + c, c < N));
          store(y + c, cast<bf16>((values(c) - mean) * inverse * scale + shift), c < N);
        });
      });
}

Program heddle::examples::layerNorm() {
  return layerNormOf<1024>();
}
