// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions of many elements: their digits, and that each element and the first value count once.
#include "frontend/hlo/Parser.h"
#include "tests/program/RunModule.h"
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <gtest/gtest.h>
#include <random>

using namespace heddle;
using namespace heddle::program::testing;
namespace reference = heddle::hlo::reference;

namespace {

struct Reduction {
  std::vector<int64_t> sizes, along;
};

std::ostream &operator<<(std::ostream &out, const Reduction &reduction) {
  return out << fmt::format("{} along {}", reduction.sizes, reduction.along);
}

/// What a reduction makes of arrays whose elements `number` gives.
std::vector<double> run(const Reduction &reduction, const std::string &type, const std::string &opcode,
                        const std::string &first, const std::function<double()> &number,
                        std::vector<double> &elements) {
  std::vector<int64_t> kept;
  for (size_t i = 0; i < reduction.sizes.size(); ++i)
    if (std::find(reduction.along.begin(), reduction.along.end(), int64_t(i)) == reduction.along.end())
      kept.push_back(reduction.sizes[i]);
  std::string text = fmt::format(
      "HloModule m\nf {{\n x = {0}[] parameter(0)\n y = {0}[] parameter(1)\n ROOT r = {0}[] {1}(x, "
      "y)\n}}\nENTRY e {{\n a = {0}[{2}] parameter(0)\n z = {0}[] constant({3})\n ROOT r = "
      "{0}[{4}] reduce(a, z), dimensions={{{5}}}, to_apply=f\n}}\n",
      type, opcode, fmt::join(reduction.sizes, ","), first, fmt::join(kept, ","), fmt::join(reduction.along, ","));
  hlo::Module module = hlo::parseModule(text, "reduce.hlo");
  reference::Value value = reference::zeros(module.entryComputation().parameter(0).shape);
  for (int64_t i = 0; i < value.shape.elementCount(); ++i) {
    reference::storeNumber(value.shape.type, number(), value.at(i));
    elements.push_back(reference::loadNumber(value.shape.type, value.at(i)));
  }
  program::ArrayBytes result = runOnDevices(module, {{value}})[0][0];
  std::vector<double> numbers;
  auto size = size_t(hlo::elementSizeBytes(result.shape.type));
  for (size_t i = 0; i < result.bytes.size(); i += size)
    numbers.push_back(reference::loadNumber(result.shape.type, reinterpret_cast<const uint8_t *>(&result.bytes[i])));
  return numbers;
}

/// The number in the result of each element.
size_t placeOf(const Reduction &reduction, int64_t element) {
  int64_t place = 0, stride = 1;
  for (size_t i = reduction.sizes.size(); i-- > 0; element /= reduction.sizes[i])
    if (std::find(reduction.along.begin(), reduction.along.end(), int64_t(i)) == reduction.along.end()) {
      place += element % reduction.sizes[i] * stride;
      stride *= reduction.sizes[i];
    }
  return size_t(place);
}

const std::vector<Reduction> reductions = {
    {{300001}, {0}},         {{3, 20000}, {1}},       {{3, 20000}, {0, 1}},        {{100000, 5}, {0}},
    {{5000, 3, 40}, {0, 2}}, {{700, 300, 4}, {1, 0}}, {{7, 1000, 200}, {0, 1, 2}}, {{600, 3, 700}, {0}},
    {{513, 2}, {0}},         {{4, 16385}, {1}},       {{2, 40, 600, 30}, {1, 3}}};

// A long sum in one accumulator would lose 1e-4 of it and more.
TEST(LongReductions, SumsKeepTheirDigits) {
  for (const Reduction &reduction : reductions) {
    SCOPED_TRACE(::testing::PrintToString(reduction));
    std::mt19937_64 random(3);
    std::vector<double> elements,
        seen = run(reduction, "f32", "add", "1024", [&] { return double(random() % 1000) / 999; }, elements);
    std::vector<double> expected(seen.size(), 1024);
    for (size_t i = 0; i < elements.size(); ++i)
      expected[placeOf(reduction, int64_t(i))] += elements[i];
    for (size_t i = 0; i < seen.size(); ++i)
      EXPECT_NEAR(seen[i], expected[i], 4e-6 * expected[i]) << i;
  }
}

TEST(LongReductions, EachElementCountsOnce) {
  for (const Reduction &reduction : reductions) {
    SCOPED_TRACE(::testing::PrintToString(reduction));
    auto check = [&](const std::string &type, const std::string &opcode, const std::string &first,
                     const std::function<double()> &number, const std::function<double(double, double)> &combine) {
      std::vector<double> elements, seen = run(reduction, type, opcode, first, number, elements);
      std::vector<double> expected(seen.size(), first == "true" ? 1 : std::stod(first));
      for (size_t i = 0; i < elements.size(); ++i) {
        double &place = expected[placeOf(reduction, int64_t(i))];
        place = combine(place, elements[i]);
      }
      EXPECT_EQ(seen, expected) << type << " " << opcode;
    };
    std::mt19937_64 random(5);
    auto number = [&] { return double(int64_t(random() % 2001) - 1000); };
    check("s32", "add", "17", number, [](double x, double y) { return x + y; });
    check("s64", "minimum", "990", number, [](double x, double y) { return std::min(x, y); });
    check(
        "u8", "maximum", "3", [&] { return double(random() % 200); },
        [](double x, double y) { return std::max(x, y); });
    check("bf16", "maximum", "-2000", number, [](double x, double y) { return std::max(x, y); });
    check(
        "f8e4m3fn", "maximum", "-100", [&] { return double(random() % 20); },
        [](double x, double y) { return std::max(x, y); });
    check("f32", "minimum", "5000", number, [](double x, double y) { return std::min(x, y); });
    check(
        "f64", "multiply", "3", [&] { return random() % 5000 ? 1.0 : -1.0; }, [](double x, double y) { return x * y; });
    check(
        "pred", "and", "true", [&] { return random() % 100000 ? 1.0 : 0.0; },
        [](double x, double y) { return double(x != 0 && y != 0); });
  }
}

} // namespace
