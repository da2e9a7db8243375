// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops whose arrays are read where they are, swapped or are updated in place, and scatters that are read as
// loops.
#include "frontend/hlo/Parser.h"
#include "support/TestError.h"
#include "tests/multi_device/TestDevices.h"
#include "tests/program/RunModule.h"
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <random>

using namespace heddle;
using namespace heddle::program;
using namespace heddle::program::testing;
namespace reference = heddle::hlo::reference;

namespace {

reference::Value valueOf(const hlo::Shape &shape, const std::function<double(int64_t)> &number) {
  reference::Value value = reference::zeros(shape);
  for (int64_t i = 0; i < shape.elementCount(); ++i)
    reference::storeNumber(shape.type, number(i), value.at(i));
  return value;
}

std::vector<double> numbersOf(const ArrayBytes &array) {
  auto size = size_t(hlo::elementSizeBytes(array.shape.type));
  std::vector<double> numbers;
  for (size_t i = 0; i < array.bytes.size(); i += size)
    numbers.push_back(reference::loadNumber(array.shape.type, reinterpret_cast<const uint8_t *>(&array.bytes[i])));
  return numbers;
}

size_t stepsNamed(const std::string &text, const std::string &kind) {
  Program program(hlo::parseModule(text, "loop.hlo"), heddle::testing::openFirstDevices(1));
  size_t count = 0;
  for (const StepDescription &step : program.describe())
    count += step.kind == kind;
  return count;
}

//===-- Loops ----------------------------------------------------------------------------------------------------===//

/// A loop of four rows of arrays a and b f32[4,3] and a counter, of `body`, which makes `next`, `a2` and `b2`.
std::string loopOf(const std::string &body,
                   const std::string &test = "n = s32[] constant(4)\n r = pred[] compare(i, n), direction=LT") {
  return fmt::format(R"(HloModule m
condition {{
 s = (s32[], f32[4,3], f32[4,3], s32[]) parameter(0)
 i = s32[] get-tuple-element(s), index=0
 a = f32[4,3] get-tuple-element(s), index=1
 end = s32[] get-tuple-element(s), index=3
 {}
}}
body {{
 s = (s32[], f32[4,3], f32[4,3], s32[]) parameter(0)
 i = s32[] get-tuple-element(s), index=0
 a = f32[4,3] get-tuple-element(s), index=1
 b = f32[4,3] get-tuple-element(s), index=2
 end = s32[] get-tuple-element(s), index=3
 zero = s32[] constant(0)
 one = s32[] constant(1)
 next = s32[] add(i, one)
 {}
 ROOT t = (s32[], f32[4,3], f32[4,3], s32[]) tuple(next, a2, b2, end)
}}
ENTRY e {{
 i = s32[] constant(0)
 a = f32[4,3] parameter(0)
 b = f32[4,3] parameter(1)
 end = s32[] parameter(2)
 s = (s32[], f32[4,3], f32[4,3], s32[]) tuple(i, a, b, end)
 ROOT w = (s32[], f32[4,3], f32[4,3], s32[]) while(s), condition=condition, body=body
}}
)",
                     test, body);
}

void check(const std::string &text) {
  SCOPED_TRACE(text);
  hlo::Module module = hlo::parseModule(text, "loop.hlo");
  hlo::Shape rows = hlo::Shape::array(hlo::DType::F32, {4, 3});
  Inputs inputs = {{valueOf(rows, [](int64_t i) { return double(i + 1); }),
                    valueOf(rows, [](int64_t i) { return double(100 - i); }),
                    valueOf(hlo::Shape::scalar(hlo::DType::S32), [](int64_t) { return 3.0; })}};
  Results seen = runOnDevices(module, inputs), expected = runReference(module, inputs);
  ASSERT_EQ(seen[0].size(), expected[0].size());
  for (size_t i = 0; i < seen[0].size(); ++i)
    EXPECT_EQ(numbersOf(seen[0][i]), numbersOf(expected[0][i])) << "result " << i;
}

TEST(Loops, ArraysThatAreSwapped) {
  check(loopOf("a2 = f32[4,3] copy(b)\n b2 = f32[4,3] copy(a)"));
  check(loopOf("a2 = f32[4,3] bitcast(b)\n b2 = f32[4,3] add(a, b)"));
  check(loopOf("a2 = f32[4,3] add(a, b)\n b2 = f32[4,3] copy(a2)"));
  std::string twice = loopOf("a2 = f32[4,3] multiply(a, b)\n b2 = f32[4,3] negate(b)");
  for (const char *results : {"(next, b, a, end)", "(next, a2, a2, end)", "(next, b, b, end)", "(next, a2, a, end)",
                              "(next, b, b2, end)", "(next, a, b2, end)"}) {
    std::string text = twice;
    std::string own = "(next, a2, b2, end)";
    check(text.replace(text.find(own), own.size(), results));
  }
}

// With the counter compared to a constant, to what the loop carries, and to what changes.
TEST(Loops, NumbersOfTrips) {
  std::string body = "a2 = f32[4,3] add(a, b)\n b2 = f32[4,3] subtract(b, a)";
  for (const char *test :
       {"n = s32[] constant(4)\n r = pred[] compare(i, n), direction=LT",
        "n = s32[] constant(-4)\n r = pred[] compare(i, n), direction=LT", "r = pred[] compare(i, end), direction=LT",
        "n = s32[] constant(2)\n r = pred[] compare(i, n), direction=LE",
        "n = s32[] constant(3)\n r = pred[] compare(n, i), direction=GT",
        "z = s32[] constant(0)\n n = f32[1,1] slice(a), slice={[0:1],[0:1]}\n m = f32[] reshape(n)\n h = f32[] "
        "constant(400)\n r = pred[] compare(m, h), direction=LT"})
    check(loopOf(body, test));
  std::string by2 = loopOf(body);
  std::string one = "one = s32[] constant(1)";
  check(by2.replace(by2.find(one), one.size(), "one = s32[] constant(3)"));
}

// Where something else reads what is overwritten, the array is copied.
TEST(Loops, UpdatesInPlace) {
  std::string row = "u = f32[1,3] dynamic-slice(b, i, zero), dynamic_slice_sizes={1,3}\n ",
              old = "o = f32[1,3] dynamic-slice(a, i, zero), dynamic_slice_sizes={1,3}\n ",
              other = "o = f32[1,3] dynamic-slice(a, next, zero), dynamic_slice_sizes={1,3}\n ",
              sum = "v = f32[1,3] add(o, u)\n ", update = "a2 = f32[4,3] dynamic-update-slice(a, v, i, zero)\n ",
              same = "b2 = f32[4,3] copy(b)";
  check(loopOf(row + old + sum + update + same));
  check(loopOf(row + other + sum + update + same));
  check(loopOf(row + old + sum + update + "b2 = f32[4,3] add(b, a)"));
  check(loopOf(row + old + sum + "b2 = f32[4,3] add(b, a)\n " + update));
  check(loopOf(row + old + sum + update + "b2 = f32[4,3] add(b, a2)"));
  check(loopOf(row + old + sum + update + "b2 = f32[4,3] copy(a)"));
  check(loopOf(row + old + sum + update + "b2 = f32[4,3] copy(a2)"));
  check(loopOf(row + "c = f32[4,3] copy(a)\n o = f32[1,3] dynamic-slice(c, i, zero), dynamic_slice_sizes={1,3}\n " +
               sum + "a2 = f32[4,3] dynamic-update-slice(c, v, i, zero)\n " + same));
  check(loopOf(row + old +
               "k = f32[3] reshape(o)\n l = f32[3] reshape(u)\n w = f32[3] multiply(k, l)\n "
               "v = f32[1,3] reshape(w)\n " +
               update + same));
  // The update is of another order than what it is made of; and its start is read from the array.
  check(loopOf(row + old + "v = f32[1,3] reverse(o), dimensions={1}\n " + update + same));
  check(loopOf(row +
               "o = f32[1,1] slice(a), slice={[3:4],[0:1]}\n k = f32[] reshape(o)\n j = s32[] convert(k)\n "
               "a2 = f32[4,3] dynamic-update-slice(a, u, j, zero)\n " +
               same));
}

// Only the update is written: of a large array the result is there in a time that copies would not take, so the number
// of elements that kernels write is looked at, not the time.
TEST(Loops, AnUpdateIsWrittenAlone) {
  auto kernelText = [](const std::string &text) {
    Program program(hlo::parseModule(text, "loop.hlo"), heddle::testing::openFirstDevices(1));
    for (const StepDescription &step : program.describe())
      if (step.name == "a2")
        return step.text;
    return std::string();
  };
  std::string body = "u = f32[1,3] dynamic-slice(b, i, zero), dynamic_slice_sizes={1,3}\n "
                     "a2 = f32[4,3] dynamic-update-slice(a, u, i, zero)\n ";
  EXPECT_NE(kernelText(loopOf(body + "b2 = f32[4,3] copy(b)")).find("tensor<4x"), std::string::npos);
  EXPECT_NE(kernelText(loopOf(body + "b2 = f32[4,3] add(a, a2)")).find("tensor<16x"), std::string::npos);
}

// Whether its trips are counted by the program or by its condition.
TEST(Loops, TakeLongerThanTheirLimit) {
  for (const char *direction : {"LT", "NE"}) {
    std::string text = fmt::format(R"(HloModule m
condition {{
 s = (s32[], f32[2048,2048]) parameter(0)
 i = s32[] get-tuple-element(s), index=0
 n = s32[] constant(250)
 ROOT r = pred[] compare(i, n), direction={}
}}
body {{
 s = (s32[], f32[2048,2048]) parameter(0)
 i = s32[] get-tuple-element(s), index=0
 a = f32[2048,2048] get-tuple-element(s), index=1
 one = s32[] constant(1)
 next = s32[] add(i, one)
 b = f32[2048,2048] sine(a)
 ROOT t = (s32[], f32[2048,2048]) tuple(next, b)
}}
ENTRY e {{
 i = s32[] constant(0)
 a = f32[2048,2048] parameter(0)
 s = (s32[], f32[2048,2048]) tuple(i, a)
 w = (s32[], f32[2048,2048]) while(s), condition=condition, body=body
 ROOT r = f32[2048,2048] get-tuple-element(w), index=1
}}
)",
                                   direction);
    hlo::Module module = hlo::parseModule(text, "loop.hlo");
    ProgramOptions options;
    options.limitSeconds = 0.1; // a trip takes some 10 ms
    hlo::Shape shape = hlo::Shape::array(hlo::DType::F32, {2048, 2048});
    std::string message =
        messageOf([&] { runOnDevices(module, {{valueOf(shape, [](int64_t i) { return double(i % 7); })}}, options); });
    EXPECT_NE(message.find("loop `w` ran for"), std::string::npos) << message;
  }
}

//===-- Scatters -------------------------------------------------------------------------------------------------===//

struct Scatter {
  std::vector<int64_t> into, indices, updates;
  std::string attributes;
  /// Of an update's element: where it goes, -1 if nowhere; `start` are the window's components.
  std::function<int64_t(int64_t element, const std::function<int64_t(int64_t)> &index)> target;
};

using Combine = std::function<double(double, double)>;

void check(const Scatter &scatter, const std::string &region, const Combine &combine) {
  auto shapeText = [](const char *type, const std::vector<int64_t> &sizes) {
    return hlo::formatShapePlain(hlo::Shape::array(*hlo::findDType(type), sizes));
  };
  std::string text = fmt::format(R"(HloModule m
f {{
 x = f32[] parameter(0)
 y = f32[] parameter(1)
 h = f32[] constant(0.5)
 {}
}}
ENTRY e {{
 a = {} parameter(0)
 i = {} parameter(1)
 u = {} parameter(2)
 ROOT r = {} scatter(a, i, u), {}, to_apply=f
}}
)",
                                 region, shapeText("f32", scatter.into), shapeText("s32", scatter.indices),
                                 shapeText("f32", scatter.updates), shapeText("f32", scatter.into), scatter.attributes);
  SCOPED_TRACE(text);
  EXPECT_EQ(stepsNamed(text, "while"), 1u);
  hlo::Module module = hlo::parseModule(text, "scatter.hlo");
  std::mt19937_64 random(7);
  Inputs inputs = {{}};
  for (const auto &[type, sizes] : {std::pair(hlo::DType::F32, scatter.into),
                                    {hlo::DType::S32, scatter.indices},
                                    {hlo::DType::F32, scatter.updates}})
    inputs[0].push_back(valueOf(hlo::Shape::array(type, sizes), [&, type = type](int64_t) {
      return type == hlo::DType::S32 ? double(int64_t(random() % 320)) - 10 : double(random() % 64);
    }));
  Results seen = runOnDevices(module, inputs);
  auto arrayOf = [&](size_t i) {
    const reference::Value &value = inputs[0][i];
    return numbersOf({value.shape, std::string(value.bytes.begin(), value.bytes.end())});
  };
  std::vector<double> expected = arrayOf(0), indices = arrayOf(1), updates = arrayOf(2);
  for (size_t i = 0; i < updates.size(); ++i) {
    int64_t target = scatter.target(int64_t(i), [&](int64_t number) { return int64_t(indices[size_t(number)]); });
    if (target >= 0)
      expected[size_t(target)] = combine(expected[size_t(target)], updates[i]);
  }
  EXPECT_EQ(numbersOf(seen[0][0]), expected);
}

TEST(Loops, ScattersOfManyPairs) {
  auto inside = [](int64_t start, int64_t most) { return start >= 0 && start <= most; };
  Scatter rows = {{300, 64},
                  {40, 1},
                  {40, 64},
                  "update_window_dims={1}, inserted_window_dims={0}, "
                  "scatter_dims_to_operand_dims={0}, index_vector_dim=1",
                  [&](int64_t i, const auto &index) {
                    int64_t row = index(i / 64);
                    return inside(row, 299) ? row * 64 + i % 64 : -1;
                  }};
  Scatter batch = {{4, 8000},
                   {4, 50, 1},
                   {4, 50},
                   "update_window_dims={}, inserted_window_dims={1}, input_batching_dims={0}, "
                   "scatter_indices_batching_dims={0}, scatter_dims_to_operand_dims={1}, index_vector_dim=2",
                   [&](int64_t i, const auto &index) {
                     int64_t column = index(i);
                     return inside(column, 7999) ? i / 50 * 8000 + column : -1;
                   }};
  Scatter windows = {{300, 320},
                     {20, 2},
                     {20, 2, 16},
                     "update_window_dims={1,2}, inserted_window_dims={}, "
                     "scatter_dims_to_operand_dims={1,0}, index_vector_dim=1",
                     [&](int64_t i, const auto &index) {
                       int64_t window = i / 32, column = index(2 * window), row = index(2 * window + 1);
                       bool isIn = inside(row, 298) && inside(column, 304);
                       return isIn ? (row + i % 32 / 16) * 320 + column + i % 16 : -1;
                     }};
  for (const Scatter &scatter : {rows, batch, windows}) {
    check(scatter, "ROOT r = f32[] add(x, y)", [](double x, double y) { return x + y; });
    check(scatter, "ROOT r = f32[] copy(y)", [](double, double y) { return y; });
    check(scatter, "z = f32[] multiply(x, h)\n ROOT r = f32[] add(z, y)",
          [](double x, double y) { return double(float(x * 0.5) + float(y)); });
  }
}

} // namespace
