// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrix products of every element type and of shapes from a single element to several panels, against plain sums.
#include "tests/numerics/PlainFloat.h"
#include "tests/numerics/Support.h"
#include <bit>

using namespace heddle::numerics;
using namespace heddle::reference;

namespace {

struct DotCase {
  std::string element, result;
  int bytes, resultBytes;
};
void PrintTo(const DotCase &which, std::ostream *stream) {
  *stream << which.element;
}

class Dot : public testing::TestWithParam<std::tuple<DotCase, std::string>> {};
INSTANTIATE_TEST_SUITE_P(
    Elements, Dot,
    testing::Combine(testing::Values(DotCase{"f16", "f32", 2, 4}, DotCase{"bf16", "f32", 2, 4},
                                     DotCase{"f16", "f16", 2, 2}, DotCase{"f32", "f32", 4, 4},
                                     DotCase{"f64", "f64", 8, 8}, DotCase{"i8", "i32", 1, 4},
                                     DotCase{"f8E4M3FN", "f32", 1, 4}, DotCase{"f8E5M2", "f32", 1, 4},
                                     DotCase{"f8E4M3FNUZ", "f32", 1, 4}, DotCase{"f8E5M2FNUZ", "f32", 1, 4}),
                     testing::ValuesIn(executorsUnderTest())),
    [](const auto &info) {
      return std::get<0>(info.param).element + "_" + std::get<0>(info.param).result + "_" +
             testNameOf(std::get<1>(info.param));
    });

// Bits of a small integer in any of the types.
uint64_t bitsOf(const std::string &element, int value) {
  if (element == "i8")
    return uint8_t(int8_t(value));
  if (element == "f64")
    return std::bit_cast<uint64_t>(double(value));
  if (element == "f32")
    return std::bit_cast<uint32_t>(float(value));
  if (element == "f16" || element == "bf16")
    return (element == "f16" ? plainF16 : plainBF16).nearest(value, false);
  for (const PlainFormat &format : plainFp8)
    if (format.name == element)
      return format.nearest(value, true);
  return 0;
}

double resultAt(const std::string &type, const std::vector<uint8_t> &bytes, size_t index) {
  auto read = [&](auto value) {
    std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
    return double(value);
  };
  if (type == "f16")
    return plainF16.valueOf(read(uint16_t()));
  return type == "f64" ? read(double()) : type == "f32" ? read(float()) : read(int32_t());
}

std::string pointerTile(const std::string &name, const std::string &type, int rows, int columns) {
  std::string shape = std::to_string(rows) + "x" + std::to_string(columns), n = std::to_string(rows * columns);
  return "  %" + name + "_i = tt.make_range {end = " + n + " : i32, start = 0 : i32} : tensor<" + n + "xi32>\n  %" +
         name + "_j = tt.reshape %" + name + "_i : tensor<" + n + "xi32> -> tensor<" + shape + "xi32>\n  %" + name +
         "_s = tt.splat %" + name + " : !tt.ptr<" + type + "> -> tensor<" + shape + "x!tt.ptr<" + type + ">>\n  %" +
         name + "_p = tt.addptr %" + name + "_s, %" + name + "_j : tensor<" + shape + "x!tt.ptr<" + type +
         ">>, tensor<" + shape + "xi32>\n";
}

} // namespace

TEST_P(Dot, small_integers_are_exact) {
  const auto &[which, executorName] = GetParam();
  auto executor = makeExecutor(executorName);
  struct Size {
    int m, n, k;
  };
  for (auto [m, n, k] : {Size{1, 1, 1}, Size{2, 4, 8}, Size{16, 16, 16}, Size{64, 64, 32}, Size{1, 128, 64},
                         Size{128, 1, 64}, Size{32, 256, 16}, Size{4, 2, 256}}) {
    SCOPED_TRACE(std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k));
    RandomBits random(m * 31 + n);
    std::vector<int> a(m * k), b(k * n), c(m * n);
    auto packed = [&](std::vector<int> &values, const std::string &type, int bytes) {
      Argument argument = Argument::buffer(std::vector<uint8_t>(values.size() * bytes));
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = int(random.next() % 9) - 4; // exact in every format
        uint64_t bits = type == "i32" ? uint32_t(values[i]) : bitsOf(type, values[i]);
        std::memcpy(argument.bytes.data() + i * bytes, &bits, bytes);
      }
      return argument;
    };
    std::vector<Argument> arguments{packed(a, which.element, which.bytes), packed(b, which.element, which.bytes),
                                    packed(c, which.result, which.resultBytes)};
    auto tile = [](int rows, int columns, const std::string &type) {
      return "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) + "x" + type + ">";
    };
    auto pointers = [&](int rows, int columns, const std::string &type) {
      return tile(rows, columns, "!tt.ptr<" + type + ">");
    };
    std::string body = pointerTile("a", which.element, m, k) + pointerTile("b", which.element, k, n) +
                       pointerTile("c", which.result, m, n);
    body += "  %ta = tt.load %a_p : " + pointers(m, k, which.element) +
            "\n  %tb = tt.load %b_p : " + pointers(k, n, which.element) +
            "\n  %tc = tt.load %c_p : " + pointers(m, n, which.result) +
            "\n  %d = tt.dot %ta, %tb, %tc, inputPrecision = ieee : " + tile(m, k, which.element) + " * " +
            tile(k, n, which.element) + " -> " + tile(m, n, which.result) +
            "\n  tt.store %c_p, %d : " + pointers(m, n, which.result);
    executor->run(kernelText("%a: !tt.ptr<" + which.element + ">, %b: !tt.ptr<" + which.element + ">, %c: !tt.ptr<" +
                                 which.result + ">",
                             body),
                  {}, arguments);
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        int sum = c[i * n + j];
        for (int l = 0; l < k; ++l)
          sum += a[i * k + l] * b[l * n + j];
        ASSERT_EQ(resultAt(which.result, arguments[2].bytes, i * n + j), sum) << i << ", " << j;
      }
  }
}

namespace {
struct Precision {
  std::string name;
  double bound; ///< of the error, by the sum of the products' magnitudes
};
void PrintTo(const Precision &which, std::ostream *stream) {
  *stream << which.name;
}
class DotPrecision : public testing::TestWithParam<std::tuple<Precision, std::string>> {};
INSTANTIATE_TEST_SUITE_P(All, DotPrecision,
                         testing::Combine(testing::Values(Precision{"tf32x3", 0x1p-20}, Precision{"bf16x3", 0x1p-14},
                                                          Precision{"bf16x6", 0x1p-20}, Precision{"ieee", 0x1p-20}),
                                          testing::ValuesIn(executorsUnderTest())),
                         [](const auto &info) {
                           return std::get<0>(info.param).name + "_" + testNameOf(std::get<1>(info.param));
                         });
} // namespace

// Operands in several parts keep the bits that the precision names, and an infinity or a NaN stays one.
TEST_P(DotPrecision, errors_are_within_the_bound) {
  const auto &[precision, executorName] = GetParam();
  constexpr int m = 16, n = 16, k = 32;
  RandomBits random(11);
  std::vector<float> a(m * k), b(k * n);
  for (std::vector<float> *side : {&a, &b})
    for (float &value : *side)
      value = float(double(int32_t(random.next())) * 0x1p-31);
  a[5 * k + 7] = INFINITY;
  b[2 * n + 3] = -INFINITY;
  a[9 * k + 3] = std::bit_cast<float>(0x7f800001u); // a NaN in the last bit only
  auto bytes = [](const std::vector<float> &values) {
    auto *first = reinterpret_cast<const uint8_t *>(values.data());
    return Argument::buffer({first, first + values.size() * sizeof(float)});
  };
  std::vector<Argument> arguments{bytes(a), bytes(b), zeros<float>(m * n)};
  std::string body = pointerTile("a", "f32", m, k) + pointerTile("b", "f32", k, n) + pointerTile("c", "f32", m, n);
  body += "  %ta = tt.load %a_p : tensor<16x32x!tt.ptr<f32>>\n  %tb = tt.load %b_p : tensor<32x16x!tt.ptr<f32>>\n"
          "  %tc = tt.load %c_p : tensor<16x16x!tt.ptr<f32>>\n  %d = tt.dot %ta, %tb, %tc, inputPrecision = " +
          precision.name +
          " : tensor<16x32xf32> * tensor<32x16xf32> -> tensor<16x16xf32>\n"
          "  tt.store %c_p, %d : tensor<16x16x!tt.ptr<f32>>";
  makeExecutor(executorName)
      ->run(kernelText("%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %c: !tt.ptr<f32>", body), {}, arguments);
  std::vector<float> got = valuesOf<float>(arguments[2]);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0, magnitude = 0;
      for (int l = 0; l < k; ++l) {
        double product = double(a[i * k + l]) * b[l * n + j];
        sum += product, magnitude += std::fabs(product);
      }
      SCOPED_TRACE(std::to_string(i) + ", " + std::to_string(j));
      if (std::isnan(sum))
        ASSERT_TRUE(std::isnan(got[i * n + j]));
      else if (std::isinf(sum))
        ASSERT_EQ(got[i * n + j], sum);
      else
        ASSERT_NEAR(got[i * n + j], sum, magnitude * precision.bound);
    }
}
