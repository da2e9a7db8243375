// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernels of kernels.cl, for both chips, unoptimised and optimised, under all policies, against plain C++.
#include "support/ElementType.h"
#include "support/TestError.h"
#include "tests/simulator/kernels/SimulatedKernel.h"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <ostream>

namespace heddle::simulator {
namespace {

struct Variant {
  std::string chip, level;
  Policy policy;
  Schedule schedule = Schedule::RunToBlock;
  bool checks = false;
};

std::string nameOf(const Variant &variant) {
  std::string name = variant.chip + "_" + variant.level + "_" + nameOf(variant.policy) + "_" +
                     nameOf(variant.schedule) + (variant.checks ? "_checked" : "");
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
void PrintTo(const Variant &variant, std::ostream *stream) {
  *stream << nameOf(variant);
}

class Kernels : public testing::TestWithParam<Variant> {
protected:
  Kernels() : object("kernels-" + GetParam().chip + "-" + GetParam().level + ".hsaco") {
    object.options.policy = GetParam().policy;
    object.options.schedule = GetParam().schedule;
    object.options.seed = 3;
    if (GetParam().checks)
      object.options.checks = CheckSet::all();
    object.options.instructionLimit = 10'000'000;
  }
  void TearDown() override { EXPECT_EQ(object.findings, ""); }
  SimulatedObject object;
};

std::vector<float> someFloats(size_t count, float scale) {
  std::vector<float> values(count);
  uint32_t state = 1;
  for (float &value : values) {
    state = state * 1664525 + 1013904223;
    value = scale * (float(state >> 8) / float(1 << 24) - 0.5f);
  }
  return values;
}

TEST_P(Kernels, VectorAdd) {
  constexpr int count = 1000; // the last workgroup has lanes beyond the end
  std::vector<float> x = someFloats(count, 3), y = someFloats(count, 1e-3f);
  uint64_t out = object.buffer(std::vector<float>(count));
  object.run("vector_add", {.groups = {4}, .items = {256}}, object.buffer(x), object.buffer(y), out, count);
  std::vector<float> result = object.read<float>(out);
  for (int i = 0; i < count; ++i)
    ASSERT_EQ(result[i], x[i] + y[i]) << i;
}

TEST_P(Kernels, SoftmaxRow) {
  constexpr int rows = 3, columns = 700;
  std::vector<float> x = someFloats(rows * columns, 8);
  uint64_t out = object.buffer(std::vector<float>(x.size()));
  object.run("softmax_row", {.groups = {rows}, .items = {256}}, object.buffer(x), out, columns);
  std::vector<float> result = object.read<float>(out);
  for (int row = 0; row < rows; ++row) {
    const float *begin = &x[row * columns];
    double most = *std::max_element(begin, begin + columns), sum = 0;
    for (int i = 0; i < columns; ++i)
      sum += std::exp(begin[i] - most);
    for (int i = 0; i < columns; ++i)
      ASSERT_NEAR(result[row * columns + i], std::exp(begin[i] - most) / sum, 1e-5 * std::exp(begin[i] - most) / sum);
  }
}

TEST_P(Kernels, ReduceSum) {
  std::vector<int> x(2 * 1024);
  std::iota(x.begin(), x.end(), -700);
  uint64_t out = object.buffer(std::vector<int>(2));
  object.run("reduce_sum", {.groups = {2}, .items = {1024}}, object.buffer(x), out);
  EXPECT_EQ(object.read<int>(out), (std::vector<int>{std::accumulate(x.begin(), x.begin() + 1024, 0),
                                                     std::accumulate(x.begin() + 1024, x.end(), 0)}));
}

TEST_P(Kernels, Matmul) {
  constexpr int n = 128;
  std::vector<float> a = someFloats(n * n, 1), b = someFloats(n * n, 3);
  uint64_t out = object.buffer(std::vector<float>(n * n));
  object.run("matmul", {.groups = {2, 2}, .items = {256}}, object.buffer(a), object.buffer(b), out, n);
  std::vector<float> result = object.read<float>(out);
  for (int row = 0; row < n; ++row)
    for (int column = 0; column < n; ++column) {
      float sum = 0;
      for (int k = 0; k < n; ++k)
        sum = std::fma(a[row * n + k], b[k * n + column], sum);
      ASSERT_EQ(result[row * n + column], sum) << row << ", " << column;
    }
}

TEST_P(Kernels, Scan) {
  std::vector<uint64_t> x(512), expected(512);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = i * i * 0x1234567;
  std::partial_sum(x.begin(), x.end(), expected.begin());
  uint64_t out = object.buffer(std::vector<uint64_t>(512));
  object.run("scan", {.items = {512}}, object.buffer(x), out);
  EXPECT_EQ(object.read<uint64_t>(out), expected);
}

TEST_P(Kernels, Histogram) {
  std::vector<uint8_t> x(5000);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = uint8_t(i * i >> 3);
  std::vector<uint32_t> expected(256);
  for (uint8_t value : x)
    ++expected[value];
  uint64_t bins = object.buffer(std::vector<uint32_t>(256));
  object.run("histogram", {.groups = {4}, .items = {256}}, object.buffer(x), bins, 5000);
  EXPECT_EQ(object.read<uint32_t>(bins), expected);
}

TEST_P(Kernels, Atomics) {
  constexpr int items = 128;
  std::vector<int> places = {0, 0, -1, 0, 0, 9, -9, -5, 3, 100};
  std::vector<uint64_t> wide = {0, 0, 5, 1};
  uint64_t placesAt = object.buffer(places), wideAt = object.buffer(wide),
           oldAt = object.buffer(std::vector<uint32_t>(items));
  object.run("atomics", {.groups = {2}, .items = {64}}, placesAt, wideAt, oldAt);
  for (int i = 0; i < items; ++i) {
    places[0] += i;
    places[1] -= i;
    places[2] &= ~(1 << (i & 31)) | 1;
    places[3] |= 1 << (i & 15);
    places[4] ^= i * 77;
    places[5] = std::min(places[5], 50 - i);
    places[6] = std::max(places[6], i - 50);
    places[7] = int(std::min(uint32_t(places[7]), uint32_t(1000 - i)));
    places[8] = int(std::max(uint32_t(places[8]), uint32_t(i - 50)));
    places[9] += 1;
    wide[0] += uint64_t(i) << 30;
    wide[1] ^= uint64_t(i) << 33;
    wide[2] = std::max(wide[2], uint64_t(i) << 35);
    wide[3] = wide[3] * 3 + 1;
  }
  EXPECT_EQ(object.read<int>(placesAt), places);
  EXPECT_EQ(object.read<uint64_t>(wideAt), wide);
  std::vector<uint32_t> old = object.read<uint32_t>(oldAt), all(items);
  std::sort(old.begin(), old.end());
  std::iota(all.begin(), all.end(), 100);
  EXPECT_EQ(old, all);
}

TEST_P(Kernels, NarrowAccesses) {
  std::vector<int8_t> c(64);
  std::vector<int16_t> s(64);
  for (int i = 0; i < 64; ++i)
    c[i] = int8_t(i * 5 - 100), s[i] = int16_t(i * 1111 - 30000);
  uint64_t wide = object.buffer(std::vector<int>(256)), cOut = object.buffer(std::vector<int8_t>(64)),
           sOut = object.buffer(std::vector<int16_t>(64));
  object.run("narrow", {.items = {64}}, object.buffer(c), object.buffer(s), wide, cOut, sOut);
  std::vector<int> result = object.read<int>(wide);
  for (int i = 0; i < 64; ++i) {
    ASSERT_EQ(result[4 * i], c[i]);
    ASSERT_EQ(result[4 * i + 1], uint8_t(c[i]));
    ASSERT_EQ(result[4 * i + 2], s[i]);
    ASSERT_EQ(result[4 * i + 3], uint16_t(s[i]));
  }
  std::reverse(c.begin(), c.end());
  std::reverse(s.begin(), s.end());
  EXPECT_EQ(object.read<int8_t>(cOut), c);
  EXPECT_EQ(object.read<int16_t>(sOut), s);
}

TEST_P(Kernels, ScratchArrays) {
  std::vector<int> order(32);
  for (int i = 0; i < 32; ++i)
    order[i] = (i * 13 + 5) & 31;
  uint64_t out = object.buffer(std::vector<int>(64));
  object.run("scratch", {.items = {64}}, object.buffer(order), out);
  std::vector<int> result = object.read<int>(out);
  for (int item = 0; item < 64; ++item) {
    uint32_t own[32] = {}, sum = 0;
    for (int i = 0; i < 32; ++i)
      own[order[i]] = uint32_t(i * item);
    for (int i = 0; i < 32; ++i)
      sum = sum * 3 + own[(i + item) & 31];
    ASSERT_EQ(result[item], int(sum)) << item;
  }
}

TEST_P(Kernels, GenericPointers) {
  std::vector<int> x(64);
  std::iota(x.begin(), x.end(), 3000);
  uint64_t xAt = object.buffer(x), out = object.buffer(std::vector<int>(64));
  object.run("generic_pointers", {.items = {64}}, xAt, out);
  std::vector<int> result = object.read<int>(out), after = object.read<int>(xAt);
  for (int item = 0; item < 64; ++item) {
    ASSERT_EQ(result[item], item % 3 == 0 ? 1063 - item : item % 3 == 1 ? 2000 + item : 3000 + item);
    ASSERT_EQ(after[item], item % 3 == 2 ? 7 : 3000 + item);
  }
}

TEST_P(Kernels, DataOfTheObject) {
  uint64_t out = object.buffer(std::vector<int>(64));
  object.run("data", {.items = {64}}, out);
  std::vector<int> result = object.read<int>(out);
  constexpr int primes[] = {2, 3, 5, 7, 11, 13, 17, 19};
  for (int item = 0; item < 64; ++item)
    ASSERT_EQ(result[item], 5 * primes[item & 7]);
}

TEST_P(Kernels, PlacesInTheGrid) {
  uint64_t out = object.buffer(std::vector<uint32_t>(24 * 15));
  object.run("places", {.groups = {3, 5}, .items = {8, 3}}, out);
  std::vector<uint32_t> result = object.read<uint32_t>(out);
  for (uint32_t y = 0; y < 15; ++y)
    for (uint32_t x = 0; x < 24; ++x)
      ASSERT_EQ(result[y * 24 + x], x | y << 16);
}

TEST_P(Kernels, BufferBounds) {
  std::vector<int> x(64);
  std::iota(x.begin(), x.end(), 100);
  for (int16_t stride : {0, 128, 0x4000 | 128}) {
    uint64_t out = object.buffer(std::vector<int>(128, -1));
    object.run("bounded", {.items = {64}}, object.buffer(x), out, 160, stride);
    std::vector<int> result = object.read<int>(out);
    for (int item = 0; item < 64; ++item) {
      ASSERT_EQ(result[64 + item], item < 40 ? 100 + item : 0) << item << ", stride " << stride;
      ASSERT_EQ(result[item], item >= 1 && item < 40 ? 100 + item : -1) << item; // stored one place further
    }
  }
}

TEST_P(Kernels, LoadsToLds) {
  std::vector<int> x(64);
  std::iota(x.begin(), x.end(), 0);
  uint64_t out = object.buffer(std::vector<int>(64));
  object.run("to_lds", {.items = {64}}, object.buffer(x), out);
  std::reverse(x.begin(), x.end());
  EXPECT_EQ(object.read<int>(out), x);
}

TEST_P(Kernels, WorkgroupsWaitForEachOther) {
  uint64_t sums = object.buffer(std::vector<uint32_t>(8));
  object.run("chain", {.groups = {8}, .items = {64}}, object.buffer(std::vector<uint32_t>(8)), sums);
  EXPECT_EQ(object.read<uint32_t>(sums), (std::vector<uint32_t>{36, 35, 33, 30, 26, 21, 15, 8}));
}

TEST_P(Kernels, WavesThatEndDoNotHoldBarriers) {
  uint64_t out = object.buffer(std::vector<int>(256, -1));
  object.run("early_end", {.items = {256}}, out);
  std::vector<int> result = object.read<int>(out);
  for (int item = 0; item < 64; ++item) {
    ASSERT_EQ(result[item], 255 - item);
    ASSERT_EQ(result[64 + item], -1);
    ASSERT_EQ(result[192 + item], 63 - item);
  }
}

TEST_P(Kernels, TheClockAdvances) {
  uint64_t out = object.buffer(std::vector<uint64_t>(64));
  object.run("clock_advances", {.items = {64}}, out);
  EXPECT_GE(object.read<uint64_t>(out)[63], 100u);
}

TEST_P(Kernels, AMissingWaitShowsWhenLoadsAreLate) {
  uint64_t out = object.buffer(std::vector<int>(64));
  object.run("no_wait", {.items = {64}}, object.buffer(std::vector<int>(64, 41)), out);
  int expected = GetParam().policy == Policy::Earliest ? 42 : 41; // late, the load overwrites the sum
  if (GetParam().policy != Policy::Random)
    EXPECT_EQ(object.read<int>(out), std::vector<int>(64, expected));
  if (GetParam().checks) {
    EXPECT_CONTAINS(object.findings, "missing wait: the register is read before the load into it is over");
    EXPECT_CONTAINS(object.findings, "needs  s_waitcnt vmcnt(0) before the read");
  }
  object.findings.clear();
}

std::vector<Variant> allVariants() {
  std::vector<Variant> variants;
  for (const char *chip : {"gfx942", "gfx950"})
    for (const char *level : {"O0", "O3"}) {
      variants.push_back({chip, level, Policy::Earliest});
      variants.push_back({chip, level, Policy::Latest});
      variants.push_back({chip, level, Policy::Earliest, Schedule::RoundRobin, true});
      variants.push_back({chip, level, Policy::Latest, Schedule::LeapFrog, true});
      variants.push_back({chip, level, Policy::Reordered, Schedule::Frozen, true});
      variants.push_back({chip, level, Policy::Random, Schedule::Random, true});
    }
  return variants;
}

INSTANTIATE_TEST_SUITE_P(All, Kernels, testing::ValuesIn(allVariants()),
                         [](const auto &info) { return nameOf(info.param); });

} // namespace
} // namespace heddle::simulator
