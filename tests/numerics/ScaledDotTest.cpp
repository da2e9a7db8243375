// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matmuls with scales for 32 or 16 elements along K, of each pair of formats and of shapes that matrix instructions
// with scales divide or do not, against plain sums.
#include "tests/numerics/PlainFloat.h"
#include "tests/numerics/Support.h"

using namespace heddle::numerics;
using namespace heddle::reference;

namespace {

struct ScaledFormat {
  std::string name, element;
  int perByte = 1;
};
void PrintTo(const ScaledFormat &which, std::ostream *stream) {
  *stream << which.name;
}
const ScaledFormat e4m3{"e4m3", "f8E4M3FN"}, e5m2{"e5m2", "f8E5M2"}, raw{"e5m2", "i8"}, e2m1{"e2m1", "i8", 2};

std::string tileType(int rows, int columns, const std::string &type) {
  return "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) + "x" + type + ">";
}

class ScaledDot : public testing::TestWithParam<std::tuple<ScaledFormat, ScaledFormat, std::string>> {};
INSTANTIATE_TEST_SUITE_P(Formats, ScaledDot,
                         testing::Combine(testing::Values(e4m3, raw, e2m1), testing::Values(e4m3, e5m2, e2m1),
                                          testing::ValuesIn(executorsUnderTest())),
                         [](const auto &info) {
                           return std::get<0>(info.param).name + "_" + std::get<1>(info.param).name + "_" +
                                  testNameOf(std::get<2>(info.param));
                         });

struct Size {
  int m, n, k, group = 32;
};

/// An operand, K along the rows of A or the columns of B, and its scales.
struct Side {
  std::vector<double> values; ///< [outer, K], times their scales
  Argument tile, scales;
};

/// Small integers; the scales are 2^-2 to 2^1, one is NaN.
Side makeSide(const ScaledFormat &format, int outer, int k, int group, bool isA, RandomBits &random) {
  static const int codesOfE2M1[] = {0, 2, 4, 5, 6};
  Side side{std::vector<double>(size_t(outer * k)), Argument::buffer(std::vector<uint8_t>(outer * k / format.perByte)),
            Argument::buffer(std::vector<uint8_t>(outer * k / group))};
  for (uint8_t &scale : side.scales.bytes)
    scale = uint8_t(125 + random.next() % 4);
  side.scales.bytes[side.scales.bytes.size() / 2] = 255;
  for (int i = 0; i < outer; ++i)
    for (int l = 0; l < k; ++l) {
      int value = int(random.next() % 9) - 4, scale = side.scales.bytes[i * (k / group) + l / group];
      side.values[i * k + l] = scale == 255 ? NAN : std::ldexp(value, scale - 127);
      int stored = l / format.perByte, at = isA ? i * (k / format.perByte) + stored : stored * outer + i;
      if (format.perByte == 2)
        side.tile.bytes[at] |= uint8_t((codesOfE2M1[std::abs(value)] | (value < 0 ? 8 : 0)) << (l % 2 * 4));
      for (const PlainFormat &plain : plainFp8)
        if (plain.name == (format.name == "e4m3" ? "f8E4M3FN" : "f8E5M2") && format.perByte == 1)
          side.tile.bytes[at] = uint8_t(plain.nearest(value, true));
    }
  return side;
}

/// Loads the tile %t_NAME from the argument %NAME, row by row; %NAME_p are its pointers.
std::string load(const std::string &name, const std::string &type, int rows, int columns) {
  std::string n = std::to_string(rows * columns), pointers = tileType(rows, columns, "!tt.ptr<" + type + ">");
  return "  %" + name + "_i = tt.make_range {end = " + n + " : i32, start = 0 : i32} : tensor<" + n + "xi32>\n  %" +
         name + "_j = tt.reshape %" + name + "_i : tensor<" + n + "xi32> -> " + tileType(rows, columns, "i32") +
         "\n  %" + name + "_s = tt.splat %" + name + " : !tt.ptr<" + type + "> -> " + pointers + "\n  %" + name +
         "_p = tt.addptr %" + name + "_s, %" + name + "_j : " + pointers + ", " + tileType(rows, columns, "i32") +
         "\n  %t_" + name + " = tt.load %" + name + "_p : " + pointers + "\n";
}

} // namespace

TEST_P(ScaledDot, small_numbers_are_exact) {
  const auto &[formatA, formatB, executorName] = GetParam();
  auto executor = makeExecutor(executorName);
  for (auto [m, n, k, group] : {Size{16, 16, 128}, Size{64, 32, 256}, Size{32, 64, 64}, Size{128, 128, 128},
                                Size{8, 16, 128}, Size{16, 16, 64}, Size{16, 16, 128, 16}}) {
    SCOPED_TRACE(std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) + " by " +
                 std::to_string(group));
    RandomBits random(m * 31 + k);
    Side a = makeSide(formatA, m, k, group, true, random), b = makeSide(formatB, n, k, group, false, random);
    std::vector<Argument> arguments{a.tile, a.scales, b.tile, b.scales, zeros<float>(m * n)};
    int rowA = k / formatA.perByte, rowsB = k / formatB.perByte;
    std::string body = load("a", formatA.element, m, rowA) + load("sa", "i8", m, k / group) +
                       load("b", formatB.element, rowsB, n) + load("sb", "i8", n, k / group) + load("c", "f32", m, n);
    body += "  %d = tt.dot_scaled %t_a scale %t_sa, %t_b scale %t_sb, %t_c lhs = " + formatA.name +
            " rhs = " + formatB.name + " {fastMath = false} : " + tileType(m, rowA, formatA.element) + ", " +
            tileType(m, k / group, "i8") + " * " + tileType(rowsB, n, formatB.element) + ", " +
            tileType(n, k / group, "i8") + " -> " + tileType(m, n, "f32") +
            "\n  tt.store %c_p, %d : " + tileType(m, n, "!tt.ptr<f32>");
    executor->run(kernelText("%a: !tt.ptr<" + formatA.element + ">, %sa: !tt.ptr<i8>, %b: !tt.ptr<" + formatB.element +
                                 ">, %sb: !tt.ptr<i8>, %c: !tt.ptr<f32>",
                             body),
                  {}, arguments);
    std::vector<float> got = valuesOf<float>(arguments[4]);
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        double sum = 0;
        for (int l = 0; l < k; ++l)
          sum += a.values[i * k + l] * b.values[j * k + l];
        if (std::isnan(sum))
          ASSERT_TRUE(std::isnan(got[i * n + j])) << i << ", " << j;
        else
          ASSERT_EQ(got[i * n + j], sum) << i << ", " << j;
      }
  }
}

// Floats of 16 bits on the left have no scales: all their bits count, and an infinity stays one.
class ScaledDotOfFloats : public testing::TestWithParam<std::tuple<PlainFormat, std::string>> {};
INSTANTIATE_TEST_SUITE_P(Formats, ScaledDotOfFloats,
                         testing::Combine(testing::Values(plainF16, plainBF16),
                                          testing::ValuesIn(executorsUnderTest())),
                         [](const auto &info) {
                           return std::get<0>(info.param).name + "_" + testNameOf(std::get<1>(info.param));
                         });

TEST_P(ScaledDotOfFloats, all_bits_count) {
  const auto &[format, executorName] = GetParam();
  constexpr int m = 16, n = 32, k = 64, group = 32;
  RandomBits random(5);
  Side b = makeSide(e2m1, n, k, group, false, random);
  int largest = (2 << format.mantissaBits) - 1;
  std::vector<double> left(m * k);
  Argument a = Argument::buffer(std::vector<uint8_t>(m * k * 2));
  for (int i = 0; i < m * k; ++i) {
    left[i] = i == 3 * k + 1 ? -INFINITY : double(int(random.next() % (2 * largest + 1)) - largest);
    uint32_t code = std::isinf(left[i]) ? format.nearest(-1e40, false) : format.nearest(left[i], true);
    a.bytes[2 * i] = uint8_t(code), a.bytes[2 * i + 1] = uint8_t(code >> 8);
  }
  std::vector<Argument> arguments{a, b.tile, b.scales, zeros<float>(m * n)};
  std::string type = format.name, body = load("a", type, m, k) + load("b", "i8", k / 2, n) +
                                         load("sb", "i8", n, k / group) + load("c", "f32", m, n);
  body += "  %d = tt.dot_scaled %t_a, %t_b scale %t_sb, %t_c lhs = " + std::string(type == "f16" ? "fp16" : "bf16") +
          " rhs = e2m1 {fastMath = false} : " + tileType(m, k, type) + " * " + tileType(k / 2, n, "i8") + ", " +
          tileType(n, k / group, "i8") + " -> " + tileType(m, n, "f32") +
          "\n  tt.store %c_p, %d : " + tileType(m, n, "!tt.ptr<f32>");
  makeExecutor(executorName)
      ->run(kernelText("%a: !tt.ptr<" + type + ">, %b: !tt.ptr<i8>, %sb: !tt.ptr<i8>, %c: !tt.ptr<f32>", body), {},
            arguments);
  std::vector<float> got = valuesOf<float>(arguments[3]);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int l = 0; l < k; ++l)
        sum += left[i * k + l] * b.values[j * k + l];
      if (std::isnan(sum))
        ASSERT_TRUE(std::isnan(got[i * n + j])) << i << ", " << j;
      else
        ASSERT_EQ(got[i * n + j], sum) << i << ", " << j;
    }
}
