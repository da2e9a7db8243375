// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The inner loops for AVX-512 against the plain ones, bit for bit.
#include "simulator/instructions/MatrixKernels.h"
#include "simulator/numbers/FloatFormats.h"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

namespace heddle::simulator {
namespace {

class MatrixKernelsTest : public testing::Test {
protected:
  void SetUp() override {
    if (!wideMatrixKernels())
      GTEST_SKIP() << "the processor has no AVX-512";
  }
  /// Of very different sizes, so that another order of the sums gives other bits; denormals and infinities too.
  std::vector<float> numbers(size_t count) {
    std::vector<float> values(count);
    for (float &value : values)
      value = std::ldexp(float(int32_t(random())), int(random() % 60) - 60);
    values[random() % count] = random() % 8 ? 0x1p-140f : std::numeric_limits<float>::infinity();
    return values;
  }
  static std::vector<uint32_t> bitsOf(const std::vector<float> &values) {
    std::vector<uint32_t> bits;
    for (float value : values)
      bits.push_back(std::bit_cast<uint32_t>(value));
    return bits;
  }
  std::mt19937 random{7};
};

TEST_F(MatrixKernelsTest, productsAndScaledSumsAreTheSame) {
  for (BlockShape shape : {BlockShape{4, 4, 4}, {16, 16, 4}, {16, 16, 32}, {16, 16, 128}, {32, 32, 1}, {32, 32, 64}})
    for (int round = 0; round < 20; ++round) {
      std::vector<float> a = numbers(shape.m * shape.k), b = numbers(shape.n * shape.k);
      std::vector<float> plain = numbers(shape.m * shape.n), wide = plain;
      plainMatrixKernels().multiply(a.data(), b.data(), plain.data(), shape);
      wideMatrixKernels()->multiply(a.data(), b.data(), wide.data(), shape);
      EXPECT_EQ(bitsOf(plain), bitsOf(wide)) << shape.m << " x " << shape.n << " x " << shape.k;
      if (shape.n < 16)
        continue;
      std::vector<double> scales(64);
      for (double &scale : scales)
        scale = std::ldexp(1.0, int(random() % 254) - 127);
      std::vector<float> sums = numbers(shape.m * shape.n);
      plainMatrixKernels().addScaled({sums.data(), scales.data(), scales.data() + 32}, plain.data(), shape);
      wideMatrixKernels()->addScaled({sums.data(), scales.data(), scales.data() + 32}, wide.data(), shape);
      EXPECT_EQ(bitsOf(plain), bitsOf(wide)) << shape.m << " x " << shape.n << " x " << shape.k << ", scaled";
    }
}

TEST_F(MatrixKernelsTest, codesAreTheSame) {
  std::vector<uint32_t> words(64);
  std::vector<float> plain(64), wide(64);
  for (int round = 0; round < 40; ++round) {
    for (uint32_t &word : words)
      word = uint32_t(random());
    for (unsigned shift = 0; shift < 32; shift += 4) {
      plainMatrixKernels().decodeFp4(words.data(), shift, plain.data());
      wideMatrixKernels()->decodeFp4(words.data(), shift, wide.data());
      EXPECT_EQ(bitsOf(plain), bitsOf(wide));
      for (unsigned lane = 0; lane < 64; ++lane)
        EXPECT_EQ(plain[lane], float(decodeFloat(fp4, words[lane] >> shift & 15)));
      if (shift % 8)
        continue;
      for (const FloatFormat &format : {fp8Ocp, bf8Ocp, fp8Fnuz, bf8Fnuz}) {
        plainMatrixKernels().decodeByte(words.data(), shift, decodeTable(format).data(), plain.data());
        wideMatrixKernels()->decodeByte(words.data(), shift, decodeTable(format).data(), wide.data());
        EXPECT_EQ(bitsOf(plain), bitsOf(wide));
      }
    }
  }
}

} // namespace
} // namespace heddle::simulator
