// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products with matrix instructions, fed by loads that go straight to LDS, and attention.
#include "tests/reference/SoftFloat.h"
#include "tests/simulator/applications/Application.h"
#include <cmath>

namespace heddle::simulator {
namespace {

using reference::encode;
using reference::FloatFormat;
using reference::formatBF16;
using reference::formatF16;

std::vector<uint16_t> rounded(const FloatFormat &format, const std::vector<float> &values) {
  std::vector<uint16_t> codes;
  for (float value : values)
    codes.push_back(uint16_t(encode(format, value)));
  return codes;
}

class MatrixKernels : public Application {
protected:
  /// The number of elements of a product that are wrong.
  int wrongElements(const std::string &name, const FloatFormat &format, int m, int n, int k) {
    SimulatedObject &kernels = load(name);
    std::vector<float> a = eighths(size_t(m) * k), b = eighths(size_t(n) * k);
    uint64_t out = kernels.buffer(std::vector<float>(size_t(m) * n, -1));
    kernels.run("matmul", {.groups = {uint32_t(n + 63) / 64, uint32_t(m + 63) / 64}, .items = {256}},
                kernels.buffer(rounded(format, a)), kernels.buffer(rounded(format, b)), out, m, n, k);
    std::vector<float> result = kernels.read<float>(out);
    int wrong = 0;
    for (int row = 0; row < m; ++row)
      for (int column = 0; column < n; ++column) {
        float sum = 0;
        for (int i = 0; i < k; ++i)
          sum += a[row * k + i] * b[column * k + i];
        wrong += result[row * n + column] != sum;
      }
    return wrong;
  }
};
EVERYWHERE(MatrixKernels);

TEST_P(MatrixKernels, ProductsOfF16) {
  EXPECT_EQ(wrongElements("matmul_f16", formatF16, 128, 64, 128), 0);
  EXPECT_EQ(wrongElements("matmul_f16", formatF16, 100, 70, 32), 0);
  EXPECT_EQ(wrongElements("matmul_f16", formatF16, 1, 1, 96), 0);
}

TEST_P(MatrixKernels, ProductsOfBF16) {
  EXPECT_EQ(wrongElements("matmul_bf16", formatBF16, 64, 128, 160), 0);
  EXPECT_EQ(wrongElements("matmul_bf16", formatBF16, 65, 33, 64), 0);
}

/// A stage is read before its loads are known to have ended: right only when they end at once.
TEST_P(MatrixKernels, AWaitLessShowsLate) {
  int wrong = wrongElements("matmul_no_wait", formatBF16, 64, 64, 128);
  if (GetParam().policy == Policy::Earliest)
    EXPECT_EQ(wrong, 0);
  else
    EXPECT_GT(wrong, 64 * 64 / 2);
}

TEST_P(MatrixKernels, Attention) {
  constexpr int length = 150, head = 64;
  std::vector<float> q = eighths(length * head), k = eighths(length * head), v = eighths(length * head);
  SimulatedObject &kernels = load("attention");
  uint64_t out = kernels.buffer(std::vector<float>(length * head));
  constexpr float scale = 0.125f * 1.44269504f;
  kernels.run("attention", {.groups = {3}, .items = {128}}, kernels.buffer(rounded(formatF16, q)),
              kernels.buffer(rounded(formatF16, k)), kernels.buffer(rounded(formatF16, v)), out, length, scale);
  std::vector<float> result = kernels.read<float>(out);
  for (int query = 0; query < length; ++query) {
    std::vector<double> weights;
    double sum = 0, expected[head] = {};
    for (int key = 0; key <= query; ++key) {
      double score = 0;
      for (int i = 0; i < head; ++i)
        score += q[query * head + i] * k[key * head + i];
      weights.push_back(std::exp2(score * scale));
      sum += weights.back();
    }
    for (int key = 0; key <= query; ++key)
      for (int i = 0; i < head; ++i)
        expected[i] += weights[key] / sum * v[key * head + i];
    // Each weight is rounded to f16, at most 2^-11 of it; the rest, in f32, is far less.
    for (int i = 0; i < head; ++i)
      ASSERT_NEAR(result[query * head + i], expected[i], 1.0 / 2048 + 1e-5) << "query " << query << ", place " << i;
  }
}

} // namespace
} // namespace heddle::simulator
