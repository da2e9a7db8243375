// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// row_softmax of the corpus against a plain C++ version with std::exp, as C++ says and with -ffast-math.
#include "bench/HostKernel.h"
#include "bench/PlainLoops.h"
#include "bench/Rows.h"
#include <fmt/format.h>

namespace heddle::bench {
namespace {

Outcome measureSoftmax(const Budget &budget, void (*plain)(const float *, float *, int64_t, int64_t)) {
  constexpr int64_t rows = 4096, cols = 1000, instances = 64;
  HostKernel kernel("tests/corpus/row_softmax.sm_90.ttir");
  float *out = kernel.buffer(rows * cols), *x = kernel.buffer(rows * cols);
  kernel.scalar(cols), kernel.scalar(cols), kernel.scalar(rows), kernel.scalar(cols);
  float *expected = kernel.memory(rows * cols);
  fillRandom(x, rows * cols, 3);
  Outcome outcome;
  outcome.comparison = compare(budget, [&] { kernel.launch(instances); }, [&] { plain(x, expected, rows, cols); });
  expectClose(out, expected, rows * cols, 1e-6);
  outcome.rate =
      fmt::format("{:.2f} ns an element", outcome.comparison->heddleMilliseconds.p50 * 1e6 / double(rows * cols));
  return outcome;
}

} // namespace

void addSoftmaxRows(std::vector<Row> &rows) {
  rows.push_back({"row_softmax", "4096 rows of 1000 f32, one thread, against C++ with std::exp at -O3", 1, 0.5, true,
                  [](const Budget &budget) { return measureSoftmax(budget, softmaxRows); }});
  rows.push_back({"row_softmax/fast-math", "the same against C++ with -ffast-math and a vector exp", 1, 0, true,
                  [](const Budget &budget) { return measureSoftmax(budget, softmaxRowsFast); }});
}

} // namespace heddle::bench
