// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Softmax and conversions to small floats, bit for bit.
#include "tests/reference/SoftFloat.h"
#include "tests/simulator/applications/Application.h"
#include <cmath>

namespace heddle::simulator {
namespace {

class RowKernels : public Application {};
EVERYWHERE(RowKernels);

/// Added up in the order of the kernel's DPP steps.
float sumOfWave(std::vector<float> lanes) {
  auto step = [&](auto source) {
    std::vector<float> before = lanes;
    for (int lane = 0; lane < 64; ++lane)
      if (int from = source(lane); from >= 0)
        lanes[lane] = before[lane] + before[from];
  };
  for (int reach : {1, 2, 4, 8})
    step([&](int lane) { return lane % 16 >= reach ? lane - reach : -1; });
  step([](int lane) { return lane / 16 % 2 ? lane / 16 * 16 - 1 : -1; });
  step([](int lane) { return lane >= 32 ? 31 : -1; });
  return lanes[63];
}

TEST_P(RowKernels, Softmax) {
  for (auto [rows, columns] : {std::pair{5, 300}, {4, 64}, {1, 1}}) {
    SimulatedObject &kernels = load("softmax");
    std::vector<float> x = floats(size_t(rows) * columns, -4, 4);
    uint64_t out = kernels.buffer(std::vector<float>(x.size()));
    kernels.run("softmax", {.groups = {uint32_t(rows + 3) / 4}, .items = {256}}, kernels.buffer(x), out, rows, columns);
    std::vector<float> result = kernels.read<float>(out);
    for (int row = 0; row < rows; ++row) {
      const float *values = &x[size_t(row) * columns];
      float most = *std::max_element(values, values + columns);
      auto power = [&](int i) {
        float exponent = (values[i] - most) * 1.44269504f;
        return float(std::exp2(double(exponent)));
      };
      std::vector<float> lanes(64);
      for (int i = 0; i < columns; ++i)
        lanes[i % 64] += power(i);
      float sum = sumOfWave(lanes);
      for (int i = 0; i < columns; ++i)
        ASSERT_EQ(result[row * columns + i], power(i) / sum) << "row " << row << ", column " << i;
    }
  }
}

TEST_P(RowKernels, QuantisesRowsToFp8) {
  constexpr int rows = 3, columns = 1000;
  bool isOcp = GetParam().chip == "gfx950";
  const reference::FloatFormat &format = isOcp ? reference::formatE4M3FN : reference::formatE4M3FNUZ;
  float largest = isOcp ? 448 : 240;
  SimulatedObject &kernels = load("quantise");
  std::vector<float> x = floats(rows * columns, -3, 3);
  std::fill_n(x.begin(), columns, 0.0f); // a row of nothing
  uint64_t codes = kernels.buffer(std::vector<uint8_t>(x.size())), scales = kernels.buffer(std::vector<float>(rows));
  kernels.run("quantise_rows", {.groups = {rows}, .items = {256}}, kernels.buffer(x), codes, scales, columns, largest);
  for (int row = 0; row < rows; ++row) {
    float most = 1e-12f;
    for (int i = 0; i < columns; ++i)
      most = std::max(most, std::fabs(x[row * columns + i]));
    float scale = largest / most;
    ASSERT_EQ(kernels.read<float>(scales)[row], scale);
    for (int i = 0; i < columns; ++i) {
      float scaled = x[row * columns + i] * scale;
      ASSERT_EQ(kernels.read<uint8_t>(codes)[row * columns + i], uint8_t(encode(format, scaled)))
          << "row " << row << ", column " << i << ": " << scaled;
    }
  }
}

/// The code of 4 bits: a sign, and the nearest of eight numbers, of two the one with an even code.
unsigned encodeFp4(double value) {
  constexpr double numbers[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  unsigned best = 0;
  for (unsigned code = 1; code < 8; ++code) {
    double better = std::fabs(std::fabs(value) - numbers[best]) - std::fabs(std::fabs(value) - numbers[code]);
    if (better > 0 || (better == 0 && code % 2 == 0))
      best = code;
  }
  return best | unsigned(std::signbit(value)) << 3;
}

class BlockKernels : public Application {}; // conversions to 4 bits
INSTANTIATE_TEST_SUITE_P(Gfx950, BlockKernels,
                         testing::Values(Variant{"gfx950", Policy::Earliest}, Variant{"gfx950", Policy::Latest}),
                         [](const auto &info) { return nameOf(info.param); });

TEST_P(BlockKernels, QuantisesToFp4) {
  constexpr int blocks = 70;
  SimulatedObject &kernels = load("quantise");
  std::vector<float> x = floats(blocks * 32, -1, 1);
  for (int block = 0; block < blocks; ++block)
    for (int i = 0; i < 32; ++i)
      x[block * 32 + i] = std::ldexp(x[block * 32 + i], block - 35);
  uint64_t codes = kernels.buffer(std::vector<uint8_t>(x.size() / 2)),
           scales = kernels.buffer(std::vector<uint8_t>(blocks));
  kernels.run("quantise_blocks", {.groups = {2}, .items = {64}}, kernels.buffer(x), codes, scales, blocks);
  std::vector<uint8_t> packed = kernels.read<uint8_t>(codes);
  for (int block = 0; block < blocks; ++block) {
    float most = 0;
    for (int i = 0; i < 32; ++i)
      most = std::max(most, std::fabs(x[block * 32 + i]));
    int exponent = std::ilogb(most) - 2;
    ASSERT_EQ(kernels.read<uint8_t>(scales)[block], exponent + 127);
    for (int i = 0; i < 32; ++i) {
      unsigned code = packed[(block * 32 + i) / 2] >> (i % 2 * 4) & 15;
      ASSERT_EQ(code, encodeFp4(std::ldexp(double(x[block * 32 + i]), -exponent))) << "block " << block << ", " << i;
    }
  }
}

} // namespace
} // namespace heddle::simulator
