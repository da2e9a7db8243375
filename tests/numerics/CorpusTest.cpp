// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every kernel of tests/corpus, as printed for both chips, on every executor, against a plain C++ loop over the same
// numbers in f64; for GPUs without one, the code that becomes PTX. The reference evaluator runs small sizes; the host
// also those at and beside the edges of tiles, with several numbers of program instances.
#include "examples/builder/PlainKernels.h"
#include "tests/numerics/Support.h"
#include <cmath>

using namespace heddle;
using namespace heddle::numerics;
using namespace heddle::plain;
using namespace heddle::reference;

class Corpus : public testing::TestWithParam<std::tuple<std::string, std::string>> {
protected:
  std::vector<Argument> runKernel(const std::string &name, Grid grid, std::vector<Argument> arguments) {
    if (!executor)
      executor = makeExecutor(std::get<1>(GetParam()));
    executor->run(readCorpus(textOf(name)), grid, arguments);
    return arguments;
  }

  /// The text of a kernel: `NAME.CHIP.ttir`, or what Triton 3.9 made of it for the device.
  static std::string textOf(const std::string &name) {
    const auto &[chip, device] = GetParam();
    return isTtgir() ? "triton-3.9/" + name + "." + device.substr(device.find(':') + 1) + ".ttgir"
                     : name + "." + chip + ".ttir";
  }
  static bool isTtgir() { return std::get<0>(GetParam()) == "ttgir"; }

  /// The small sizes, and the others where they do not take too long.
  template <typename Size>
  std::vector<Size> sizes(std::vector<Size> all, const std::vector<Size> &others) {
    if (std::get<1>(GetParam()) != "reference" && !isTtgir())
      all.insert(all.end(), others.begin(), others.end());
    return all;
  }

private:
  std::unique_ptr<Executor> executor;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, Corpus,
                         testing::Combine(testing::Values("gfx942", "sm_90"),
                                          testing::ValuesIn(executorsUnderTest({"reference", "threads_predicated"}))),
                         [](const auto &info) {
                           return std::get<0>(info.param) + "_" + testNameOf(std::get<1>(info.param));
                         });

// Triton's TTGIR for the simulated chip under test, with its layouts, its shared memory and its buffer accesses.
static std::vector<std::tuple<std::string, std::string>> ttgirUnderTest() {
  std::string device = testDevice();
  if (device == "sim:gfx942" || device == "sim:gfx950")
    return {{"ttgir", device}};
  return {};
}
INSTANTIATE_TEST_SUITE_P(Ttgir, Corpus, testing::ValuesIn(ttgirUnderTest()),
                         [](const auto &info) { return testNameOf(std::get<1>(info.param)); });

static void expectNear(const std::vector<double> &actual, const std::vector<double> &expected, double absolute,
                       double relative = 0) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], absolute + relative * std::fabs(expected[i])) << "element " << i;
}

static int tilesOf(int size, int tile) {
  return (size + tile - 1) / tile;
}

TEST_P(Corpus, vector_add) {
  for (int n : sizes<int>({1500}, {1, 1023, 1024, 1025, 70001})) {
    SCOPED_TRACE(n);
    auto x = numbers(n, 1), y = numbers(n, 2);
    // One instance more than needed: it stores nothing.
    auto result = runKernel("vector_add", {tilesOf(n, 1024) + 1},
                            {floatsAs(formatF32, x), floatsAs(formatF32, y), zeros<float>(n), scalarI32(n)});
    expectNear(floatsOf(formatF32, result[2]), add(x, y), 0);
  }
}

TEST_P(Corpus, row_softmax) {
  struct Size {
    int rows, cols, stride, programs;
  };
  for (auto [rows, cols, stride, programs] :
       sizes<Size>({{3, 100, 112, 2}}, {{1, 1, 1, 1}, {9, 1023, 1023, 4}, {33, 1024, 1040, 7}, {5, 17, 64, 12}})) {
    SCOPED_TRACE(cols);
    auto x = numbers(rows * stride, 3);
    auto result = runKernel("row_softmax", {programs},
                            {zeros<float>(rows * stride), floatsAs(formatF32, x), scalarI32(stride), scalarI32(stride),
                             scalarI32(rows), scalarI32(cols)});
    expectNear(floatsOf(formatF32, result[0]), softmaxOfRows(x, rows, cols, stride), 1e-7, 1e-6);
  }
}

struct MatrixSize {
  int M, N, K;
};

TEST_P(Corpus, matmul_f16) {
  for (auto [M, N, K] :
       sizes<MatrixSize>({{70, 80, 40}}, {{1, 1, 1}, {64, 64, 32}, {65, 63, 31}, {300, 130, 257}, {700, 66, 33}})) {
    SCOPED_TRACE(M);
    auto a = numbers(M * K, 4), b = numbers(K * N, 5);
    auto result = runKernel("matmul_f16", {tilesOf(M, 64) * tilesOf(N, 64)},
                            {floatsAs(formatF16, a), floatsAs(formatF16, b), zeros<uint16_t>(M * N), scalarI32(M),
                             scalarI32(N), scalarI32(K), scalarI32(K), scalarI32(N), scalarI32(N)});
    // Half an f16 step, after sums in f32 of exact products.
    expectNear(floatsOf(formatF16, result[2]), multiply(a, b, M, N, K), 1e-5, 1.0 / 2048);
  }
}

TEST_P(Corpus, split_k_matmul) {
  for (auto [M, N, K] : sizes<MatrixSize>({{20, 40, 150}}, {{1, 1, 1}, {33, 65, 129}, {96, 128, 511}}))
    for (std::string order : {"relaxed", "acq_rel"}) {
      SCOPED_TRACE(order + " " + std::to_string(M));
      auto a = numbers(M * K, 6), b = numbers(K * N, 7);
      auto result = runKernel("split_k_matmul_" + order, {tilesOf(M, 32), tilesOf(N, 64), 4},
                              {floatsAs(formatBF16, a), floatsAs(formatBF16, b), zeros<float>(M * N), scalarI32(M),
                               scalarI32(N), scalarI32(K)});
      expectNear(floatsOf(formatF32, result[2]), multiply(a, b, M, N, K), 0); // multiples of 2^-14: sums are exact
    }
}

TEST_P(Corpus, layer_norm) {
  struct Size {
    int rows, N, stride;
  };
  for (auto [rows, N, stride] :
       sizes<Size>({{2, 1100, 1104}}, {{1, 1, 1}, {7, 1024, 1024}, {50, 1023, 1025}, {3, 5000, 5000}})) {
    SCOPED_TRACE(N);
    double eps = 1e-5;
    auto x = numbers(rows * stride, 8), w = numbers(N, 9), b = numbers(N, 10);
    auto result = runKernel("layer_norm", {rows},
                            {floatsAs(formatBF16, x), zeros<uint16_t>(rows * stride), floatsAs(formatBF16, w),
                             floatsAs(formatBF16, b), zeros<float>(rows), zeros<float>(rows), scalarI32(stride),
                             scalarI32(N), scalarF32(float(eps))});
    auto [y, means, inverses] = normaliseRows(x, w, b, rows, N, stride, eps);
    expectNear(floatsOf(formatBF16, result[1]), y, 1e-5, 1.0 / 256);
    expectNear(floatsOf(formatF32, result[4]), means, 1e-6);
    expectNear(floatsOf(formatF32, result[5]), inverses, 0, 1e-5);
  }
}

TEST_P(Corpus, rowwise_fp8) {
  for (auto [rows, cols] : sizes<std::pair<int, int>>({{20, 150}}, {{1, 1}, {16, 128}, {17, 129}, {100, 1000}})) {
    SCOPED_TRACE(cols);
    auto x = numbers(rows * cols, 11);
    auto result = runKernel(
        "rowwise_fp8", {tilesOf(rows, 16)},
        {floatsAs(formatBF16, x), zeros<uint8_t>(rows * cols), zeros<float>(rows), scalarI32(rows), scalarI32(cols)});
    std::vector<double> scales(rows);
    std::vector<uint8_t> codes(rows * cols);
    for (int r = 0; r < rows; ++r) {
      double largest = 1e-12;
      for (int c = 0; c < cols; ++c)
        largest = std::max(largest, std::fabs(x[r * cols + c]));
      scales[r] = std::exp2(std::floor(std::log2(448 / largest)));
      for (int c = 0; c < cols; ++c)
        codes[r * cols + c] = uint8_t(encode(formatE4M3FN, std::clamp(x[r * cols + c] * scales[r], -448.0, 448.0)));
    }
    expectNear(floatsOf(formatF32, result[2]), scales, 0);
    EXPECT_EQ(valuesOf<uint8_t>(result[1]), codes);
  }
}

TEST_P(Corpus, amax_atomic) {
  for (auto [rows, cols] : sizes<std::pair<int, int>>({{100, 70}}, {{1, 1}, {64, 64}, {65, 129}, {3000, 65}})) {
    SCOPED_TRACE(rows);
    auto x = numbers(rows * cols, 12);
    auto result = runKernel("amax_atomic", {tilesOf(rows, 64), tilesOf(cols, 64)},
                            {floatsAs(formatBF16, x), zeros<float>(cols), scalarI32(rows), scalarI32(cols)});
    std::vector<double> expected(cols);
    for (int i = 0; i < rows * cols; ++i)
      expected[i % cols] = std::max(expected[i % cols], std::fabs(x[i]));
    expectNear(floatsOf(formatF32, result[1]), expected, 0);
  }
}

TEST_P(Corpus, transpose_f16) {
  for (auto [rows, cols] :
       sizes<std::pair<int, int>>({{70, 90}}, {{1, 1}, {64, 128}, {63, 65}, {1, 300}, {517, 131}})) {
    SCOPED_TRACE(rows);
    auto x = numbers(rows * cols, 13);
    auto result = runKernel("transpose_f16", {tilesOf(rows, 64), tilesOf(cols, 64)},
                            {floatsAs(formatF16, x), zeros<uint16_t>(rows * cols), scalarI32(rows), scalarI32(cols)});
    std::vector<double> expected(rows * cols);
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < cols; ++c)
        expected[c * rows + r] = x[r * cols + c];
    expectNear(floatsOf(formatF16, result[1]), expected, 0);
  }
}

TEST_P(Corpus, spin_lock_sum) {
  for (int n : sizes<int>({700}, {1, 256, 257, hasFewPrograms(std::get<1>(GetParam())) ? 20000 : 100000})) {
    SCOPED_TRACE(n);
    auto x = numbers(n, 14);
    auto result = runKernel("spin_lock_sum", {tilesOf(n, 256)},
                            {floatsAs(formatF32, x), zeros<float>(1), zeros<int32_t>(1), scalarI32(n)});
    double sum = 0;
    for (double value : x)
      sum += value;
    expectNear(floatsOf(formatF32, result[1]), {sum}, 0); // multiples of 1/128: every partial sum is exact
    EXPECT_EQ(valuesOf<int32_t>(result[2])[0], 0);
  }
}

TEST_P(Corpus, jagged_rowsum) {
  struct Size {
    int cols;
    std::vector<int32_t> ends;
  };
  for (auto &[cols, ends] :
       sizes<Size>({{70, {5, 5, 45, 50}}}, {{1, {1}}, {64, {0, 32, 64, 64}}, {65, {31, 64, 97, 400, 401}}})) {
    SCOPED_TRACE(cols);
    int groups = int(ends.size());
    auto x = numbers(ends.back() * cols, 15);
    auto result = runKernel(
        "jagged_rowsum", {groups, tilesOf(cols, 64)},
        {floatsAs(formatBF16, x), bufferOf(ends), zeros<float>(groups * cols), scalarI32(cols), scalarI32(groups)});
    std::vector<double> expected(groups * cols);
    for (int g = 0, row = 0; g < groups; ++g)
      for (; row < ends[g]; ++row)
        for (int c = 0; c < cols; ++c)
          expected[g * cols + c] += x[row * cols + c];
    expectNear(floatsOf(formatF32, result[2]), expected, 0);
  }
}

TEST_P(Corpus, attention_causal) {
  for (auto [T, heads] : sizes<std::pair<int, int>>({{80, 2}}, {{1, 1}, {64, 1}, {65, 3}, {200, 2}})) {
    SCOPED_TRACE(T);
    int D = 64;
    double scale = 0.125;
    auto q = numbers(heads * T * D, 16), k = numbers(heads * T * D, 17), v = numbers(heads * T * D, 18);
    auto result = runKernel("attention_causal", {tilesOf(T, 64), heads},
                            {floatsAs(formatF16, q), floatsAs(formatF16, k), floatsAs(formatF16, v),
                             zeros<uint16_t>(heads * T * D), scalarI32(T), scalarF32(float(scale))});
    expectNear(floatsOf(formatF16, result[3]), attendCausally(q, k, v, heads, T, D, scale), 0.002);
  }
}
