// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A product of f32 matrices on one core against OpenBLAS.
#include "bench/HostKernel.h"
#include "bench/Rows.h"
#include <fmt/format.h>
#ifdef HEDDLE_OPENBLAS
#include <cblas-openblas.h>
#endif

namespace heddle::bench {

#ifdef HEDDLE_OPENBLAS
static Outcome measureMatmul(const Budget &budget) {
  constexpr int64_t size = 512, tile = 128;
  openblas_set_num_threads(1);
  HostKernel kernel("bench/kernels/matmul_f32.ttir");
  float *a = kernel.buffer(size * size), *b = kernel.buffer(size * size), *c = kernel.buffer(size * size);
  kernel.scalar(size), kernel.scalar(size), kernel.scalar(size);
  std::vector<float> other(size * size);
  fillRandom(a, size * size, 4), fillRandom(b, size * size, 5);
  Outcome outcome;
  outcome.comparison = compare(
      budget, [&] { kernel.launch((size / tile) * (size / tile)); },
      [&] {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, size, size, size, 1.0f, a, size, b, size, 0.0f,
                    other.data(), size);
      });
  expectClose(c, other.data(), size * size, 1e-3);
  double operations = 2.0 * size * size * size;
  outcome.rate =
      fmt::format("{:.1f} GFLOP/s, OpenBLAS ({}) {:.1f}", operations / outcome.comparison->heddleMilliseconds.p50 / 1e6,
                  openblas_get_corename(), operations / outcome.comparison->otherMilliseconds.p50 / 1e6);
  return outcome;
}
#else
static Outcome measureMatmul(const Budget &) {
  Outcome outcome;
  outcome.skipped = "this build found no OpenBLAS; install libopenblas-dev and configure again";
  return outcome;
}
#endif

void addMatmulRow(std::vector<Row> &rows) {
  rows.push_back({"matmul_f32/512", "512 x 512 x 512 f32 on one core, against OpenBLAS on one thread", 1, 0.25, true,
                  measureMatmul});
}

} // namespace heddle::bench
