// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A scan whose workgroups look back at each other, and a radix sort of several launches.
#include "tests/simulator/applications/Application.h"
#include <algorithm>
#include <numeric>

namespace heddle::simulator {
namespace {

class ScanAndSort : public Application {};
EVERYWHERE(ScanAndSort);

TEST_P(ScanAndSort, SumsInOnePass) {
  for (int count : {1, 1024, 5000, 40000}) {
    SimulatedObject &kernels = load("scan");
    std::vector<uint32_t> x(count), expected(count);
    for (uint32_t &value : x)
      value = uint32_t(random());
    std::partial_sum(x.begin(), x.end(), expected.begin());
    uint32_t groups = uint32_t(count + 1023) / 1024;
    uint64_t out = kernels.buffer(std::vector<uint32_t>(count));
    kernels.run("scan", {.groups = {groups}, .items = {256}}, kernels.buffer(x), out,
                kernels.buffer(std::vector<uint32_t>(1)), kernels.buffer(std::vector<uint64_t>(groups)), count);
    EXPECT_EQ(kernels.read<uint32_t>(out), expected) << count;
  }
}

TEST_P(ScanAndSort, SortsByFourPasses) {
  for (int count : {1, 1000, 5000}) {
    SimulatedObject &kernels = load("sort");
    std::vector<uint32_t> keys(count), values(count), order(count);
    for (uint32_t &key : keys)
      key = uint32_t(random()) >> (random() % 24); // many are small, so that keys are alike
    std::iota(values.begin(), values.end(), 0);
    order = values;
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return std::pair(keys[a], a) < std::pair(keys[b], b); });
    uint32_t parts = uint32_t(count + 1023) / 1024;
    uint64_t from[] = {kernels.buffer(keys), kernels.buffer(values)},
             to[] = {kernels.buffer(keys), kernels.buffer(values)},
             counts = kernels.buffer(std::vector<uint32_t>(256 * parts));
    for (int shift = 0; shift < 32; shift += 8) {
      kernels.run("count_digits", {.groups = {parts}, .items = {256}}, from[0], counts, count, shift);
      kernels.run("sum_before", {.items = {256}}, counts, int(256 * parts));
      kernels.run("move", {.groups = {parts}, .items = {256}}, from[0], from[1], counts, to[0], to[1], count, shift);
      std::swap(from, to);
    }
    EXPECT_EQ(kernels.read<uint32_t>(from[1]), order) << count;
    std::sort(keys.begin(), keys.end());
    EXPECT_EQ(kernels.read<uint32_t>(from[0]), keys) << count;
  }
}

} // namespace
} // namespace heddle::simulator
