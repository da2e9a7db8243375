// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A tiled matrix product: a template over the sizes of its tiles, pointers as carried values, column() and row().
#include "examples/builder/Kernels.h"
#include "frontend/build/Build.h"

using namespace heddle::build;

/// `group` rows of tiles are worked on together, so that adjacent programs share what they read of b.
template <int64_t M, int64_t N, int64_t K, int group>
static Program matmul() {
  return kernel("matmul_f16", {aligned("a"), aligned("b"), aligned("c"), "M", "N", "K", "sam", "sbk", "scm"},
                [](Pointer<f16> a, Pointer<f16> b, Pointer<f16> c, Scalar<i32> rows, Scalar<i32> columns,
                   Scalar<i32> inner, Scalar<i32> strideA, Scalar<i32> strideB, Scalar<i32> strideC) {
                  auto program = programId();
                  auto tileRows = ceilDivide(rows, M), tileColumns = ceilDivide(columns, N);
                  auto perGroup = tileColumns * group;
                  auto firstRow = program / perGroup * group;
                  auto groupRows = minimum(tileRows - firstRow, group);
                  auto tileRow = firstRow + program % perGroup % groupRows;
                  auto tileColumn = program % perGroup / groupRows;

                  auto m = tileRow * M + range<M>();
                  auto n = tileColumn * N + range<N>();
                  auto k = range<K>();
                  auto fromA = a + column(m % rows) * strideA + row(k);
                  auto fromB = b + column(k) * strideB + row(n % columns);
                  auto step = [&](Scalar<i32> tile, auto sum, auto fromA, auto fromB) {
                    auto left = inner - tile * K;
                    auto tileA = load(fromA, row(k) < left, 0);
                    auto tileB = load(fromB, column(k) < left, 0);
                    return carry(dot(tileA, tileB, sum), fromA + K, fromB + strideB * K);
                  };
                  auto start = carry(zeros<f32, M, N>(), fromA, fromB);
                  auto sum = std::get<0>(forRange(0, ceilDivide(inner, K), 1, start, step));

                  store(c + column(m) * strideC + row(n), cast<f16>(sum), column(m) < rows && row(n) < columns);
                });
}

Program heddle::examples::matmulF16() {
  return matmul<64, 64, 32, 8>();
}
