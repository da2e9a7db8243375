// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Convolutions that are matmuls, against their definition.
#include "frontend/hlo/Parser.h"
#include "tests/program/RunModule.h"
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <random>

using namespace heddle;
using namespace heddle::program::testing;
namespace reference = heddle::hlo::reference;

namespace {

using Sizes = std::array<int64_t, 4>;

/// The index of an element whose coordinates are in the order of `of`, in an array whose dimensions are in the order of
/// `labels`.
size_t at(const std::string &labels, const std::string &of, const Sizes &sizes, const Sizes &coordinates) {
  int64_t index = 0;
  for (char label : labels) {
    size_t i = of.find(label);
    index = index * sizes[i] + coordinates[i];
  }
  return size_t(index);
}

std::vector<int64_t> ordered(const std::string &labels, const std::string &of, const Sizes &sizes) {
  std::vector<int64_t> result;
  for (char label : labels)
    result.push_back(sizes[of.find(label)]);
  return result;
}

struct Convolution {
  std::string image, kernel, result; ///< labels
  int64_t stride = 1, low = 0, high = 0, dilation = 1;
  bool reversed = false;
  int64_t groups = 1;
};

void check(const Convolution &c) {
  const int64_t batch = 3, features = 8, outputs = 32, height = 9, width = 7, window = 3;
  int64_t inputs = features / c.groups, reach = (window - 1) * c.dilation;
  int64_t rows = (height + c.low + c.high - reach - 1) / c.stride + 1;
  int64_t columns = (width + c.low + c.high - reach - 1) / c.stride + 1;
  Sizes imageSizes = {batch, features, height, width}, kernelSizes = {inputs, outputs, window, window},
        resultSizes = {batch, outputs, rows, columns};
  std::string text = fmt::format(
      "HloModule m\nENTRY e {{\n x = f32[{}] parameter(0)\n w = f32[{}] parameter(1)\n ROOT r = f32[{}] convolution(x, "
      "w), "
      "window={{size=3x3 stride={}x{} pad={}_{}x{}_{} rhs_dilate={}x{}{}}}, dim_labels={}_{}->{}{}\n}}\n",
      fmt::join(ordered(c.image, "bf01", imageSizes), ","), fmt::join(ordered(c.kernel, "io01", kernelSizes), ","),
      fmt::join(ordered(c.result, "bf01", resultSizes), ","), c.stride, c.stride, c.low, c.high, c.low, c.high,
      c.dilation, c.dilation, c.reversed ? " rhs_reversal=1x1" : "", c.image, c.kernel, c.result,
      c.groups > 1 ? fmt::format(", feature_group_count={}", c.groups) : "");
  SCOPED_TRACE(text);
  hlo::Module module = hlo::parseModule(text, "convolution.hlo");
  std::mt19937_64 random(11);
  std::vector<reference::Value> inputsOf;
  std::vector<std::vector<double>> numbers;
  for (size_t i : {0, 1}) {
    inputsOf.push_back(reference::zeros(module.entryComputation().parameter(i).shape));
    numbers.emplace_back();
    for (int64_t k = 0; k < inputsOf.back().shape.elementCount(); ++k) {
      numbers.back().push_back(double(int64_t(random() % 9) - 4));
      reference::storeNumber(hlo::DType::F32, numbers.back().back(), inputsOf.back().at(k));
    }
  }
  program::ArrayBytes seen = runOnDevices(module, {inputsOf})[0][0];
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t o = 0; o < outputs; ++o)
      for (int64_t y = 0; y < rows; ++y)
        for (int64_t x = 0; x < columns; ++x) {
          double expected = 0;
          for (int64_t i = 0; i < inputs; ++i)
            for (int64_t v = 0; v < window; ++v)
              for (int64_t u = 0; u < window; ++u) {
                int64_t row = y * c.stride - c.low + v * c.dilation, column = x * c.stride - c.low + u * c.dilation;
                if (row < 0 || row >= height || column < 0 || column >= width)
                  continue;
                int64_t feature = o / (outputs / c.groups) * inputs + i;
                Sizes tap = {i, o, c.reversed ? window - 1 - v : v, c.reversed ? window - 1 - u : u};
                expected += numbers[0][at(c.image, "bf01", imageSizes, {b, feature, row, column})] *
                            numbers[1][at(c.kernel, "io01", kernelSizes, tap)];
              }
          size_t index = at(c.result, "bf01", resultSizes, {b, o, y, x});
          ASSERT_EQ(reference::loadNumber(hlo::DType::F32, reinterpret_cast<const uint8_t *>(&seen.bytes[4 * index])),
                    expected)
              << fmt::format("batch {}, output {}, {}, {}", b, o, y, x);
        }
}

TEST(Convolution, LabelsWindowsAndGroups) {
  check({"b01f", "01io", "b01f"});
  check({"bf01", "oi01", "bf01", 2, 1, 2});
  check({"b01f", "01io", "bf01", 1, 1, 1, 2});
  check({"01bf", "io01", "01bf", 2, 0, 1, 1, true});
  check({"f01b", "i01o", "f01b", 1, 1, 1, 1, true});
  check({"bf10", "oi01", "b01f", 1, 2, 0});
  check({"b01f", "01io", "b01f", 2, 1, 1, 1, false, 4});
}

} // namespace
