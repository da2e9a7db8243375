// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// vector_add of the corpus against a plain loop on as many threads: out of cache, where memory is the limit, and in
// cache, where the instructions are.
#include "bench/HostKernel.h"
#include "bench/PlainLoops.h"
#include "bench/Rows.h"
#include "support/Knobs.h"
#include <fmt/format.h>
#include <thread>

namespace heddle::bench {
namespace {

void addOnThreads(const float *x, const float *y, float *out, int64_t count, int threads) {
  std::vector<std::thread> others;
  int64_t share = (count + threads - 1) / threads;
  for (int i = 1; i < threads; ++i)
    others.emplace_back(
        [=] { addVectors(x + i * share, y + i * share, out + i * share, std::min(share, count - i * share)); });
  addVectors(x, y, out, std::min(share, count));
  for (std::thread &each : others)
    each.join();
}

Outcome measureVectorAdd(const Budget &budget, int64_t count, int times) {
  HostKernel kernel("tests/corpus/vector_add.sm_90.ttir");
  float *x = kernel.buffer(count), *y = kernel.buffer(count), *out = kernel.buffer(count);
  kernel.scalar(int32_t(count));
  float *plain = kernel.memory(count);
  fillRandom(x, count, 1), fillRandom(y, count, 2);
  int threads = hostThreads();
  Outcome outcome;
  outcome.comparison = compare(
      budget, [&] { kernel.launch((count + 1023) / 1024, times); },
      [&] {
        for (int i = 0; i < times; ++i)
          addOnThreads(x, y, plain, count, threads);
      });
  expectClose(out, plain, count, 0);
  double bytes = double(count) * times * 12;
  outcome.rate = fmt::format("{:.1f} GB/s", bytes / outcome.comparison->heddleMilliseconds.p50 / 1e6);
  return outcome;
}

} // namespace

void addVectorAddRows(std::vector<Row> &rows) {
  constexpr int64_t large = 16 << 20, middle = 256 << 10, small = 32 << 10;
  auto measureLarge = [](const Budget &budget) { return measureVectorAdd(budget, large, 1); };
  rows.push_back({"vector_add/16M/1", "16M f32, one thread, against a plain loop at -O3", 1, 0.8, true, measureLarge});
  rows.push_back(
      {"vector_add/16M/all", "16M f32, all threads, against a plain loop at -O3", 0, 0.8, true, measureLarge});
  rows.push_back({"vector_add/256K/1",
                  "256K f32 in cache, 20 launches in a row, one thread, against a plain loop at -O3", 1, 0, true,
                  [](const Budget &budget) { return measureVectorAdd(budget, middle, 20); }});
  rows.push_back({"vector_add/32K/1",
                  "32K f32 in cache, 100 launches in a row, one thread, against a plain loop at -O3", 1, 0, true,
                  [](const Budget &budget) { return measureVectorAdd(budget, small, 100); }});
}

} // namespace heddle::bench
