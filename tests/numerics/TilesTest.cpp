// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations that move elements or combine them along an axis, on tiles of many ranks, with and without bounds checks.
#include "tests/numerics/Support.h"
#include <numeric>

using namespace heddle::numerics;
using namespace heddle::reference;

namespace {

using Shape = std::vector<int64_t>;

int64_t countOf(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

std::string tile(const Shape &shape, const std::string &type) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return shape.empty() ? type : text + type + ">";
}

/// Row-major strides.
Shape stridesOf(const Shape &shape) {
  Shape strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * shape[d];
  return strides;
}

/// Positions that differ along `axis` only: calls `line(first element, stride)` for each line.
void forLines(const Shape &shape, int axis, const std::function<void(int64_t, int64_t)> &line) {
  int64_t stride = stridesOf(shape)[axis];
  for (int64_t i = 0; i < countOf(shape); ++i)
    if (i / stride % shape[axis] == 0)
      line(i, stride);
}

// Loads (or stores) `count` elements at %POINTER as one row.
std::string row(const std::string &name, const std::string &type, int64_t count) {
  std::string n = std::to_string(count), pointers = tile({count}, "!tt.ptr<" + type + ">");
  return "  %" + name + "_i = tt.make_range {end = " + n + " : i32, start = 0 : i32} : " + tile({count}, "i32") +
         "\n  %" + name + "_s = tt.splat %" + name + " : !tt.ptr<" + type + "> -> " + pointers + "\n  %" + name +
         "_p = tt.addptr %" + name + "_s, %" + name + "_i : " + pointers + ", " + tile({count}, "i32") + "\n";
}

std::string loadTile(const std::string &value, const std::string &pointer, const std::string &type,
                     const Shape &shape) {
  int64_t count = countOf(shape);
  std::string text = row(pointer, type, count) + "  %" + value + "_row = tt.load %" + pointer +
                     "_p : " + tile({count}, "!tt.ptr<" + type + ">") + "\n";
  return text + "  %" + value + " = tt.reshape %" + value + "_row : " + tile({count}, type) + " -> " +
         tile(shape, type) + "\n";
}

std::string storeTile(const std::string &value, const std::string &pointer, const std::string &type,
                      const Shape &shape) {
  int64_t count = countOf(shape);
  if (shape.empty())
    return "  tt.store %" + pointer + ", %" + value + " : !tt.ptr<" + type + ">\n";
  return row(pointer, type, count) + "  %" + value + "_out = tt.reshape %" + value + " : " + tile(shape, type) +
         " -> " + tile({count}, type) + "\n  tt.store %" + pointer + "_p, %" + value +
         "_out : " + tile({count}, "!tt.ptr<" + type + ">");
}

std::vector<int32_t> smallIntegers(int64_t count, uint64_t seed) {
  std::vector<int32_t> values;
  for (RandomBits random(seed); int64_t(values.size()) < count;)
    values.push_back(int32_t(random.next() % 200) - 100);
  return values;
}

class Tiles : public testing::TestWithParam<std::string> {
protected:
  std::vector<int32_t> runI32(const std::string &body, const std::vector<int32_t> &x, int64_t resultCount) {
    std::vector<Argument> arguments{bufferOf(x), zeros<int32_t>(resultCount)};
    makeExecutor(GetParam())->run(kernelText("%x: !tt.ptr<i32>, %o: !tt.ptr<i32>", body), {}, arguments);
    return valuesOf<int32_t>(arguments[1]);
  }
};
INSTANTIATE_TEST_SUITE_P(Executors, Tiles, testing::ValuesIn(executorsUnderTest({"reference"})),
                         [](const auto &info) { return testNameOf(info.param); });

const std::vector<Shape> shapes{{1},
                                {2},
                                {64},
                                {1024},
                                {1, 8},
                                {8, 1},
                                {4, 32},
                                {32, 4},
                                {2, 16, 8},
                                {16, 1, 4},
                                {2, 2, 2, 2},
                                {4, 1, 2, 1, 8},
                                {2, 2, 2, 2, 2, 2, 2, 2, 2, 2}};

} // namespace

TEST_P(Tiles, reductions_along_every_axis) {
  for (const Shape &shape : shapes)
    for (int axis = 0; axis < int(shape.size()); ++axis) {
      Shape rest = shape;
      rest.erase(rest.begin() + axis);
      SCOPED_TRACE(tile(shape, "i32") + " axis " + std::to_string(axis));
      auto x = smallIntegers(countOf(shape), 1);
      std::string body = loadTile("t", "x", "i32", shape) + R"(  %r = "tt.reduce"(%t) <{axis = )" +
                         std::to_string(axis) + R"( : i32}> ({
  ^bb0(%a: i32, %b: i32):
    %s = arith.addi %a, %b : i32
    tt.reduce.return %s : i32
  }) : ()" + tile(shape, "i32") +
                         ") -> " + tile(rest, "i32") + "\n" + storeTile("r", "o", "i32", rest);
      std::vector<int32_t> expected;
      forLines(shape, axis, [&](int64_t first, int64_t stride) {
        int32_t sum = 0;
        for (int64_t i = 0; i < shape[axis]; ++i)
          sum += x[first + i * stride];
        expected.push_back(sum);
      });
      ASSERT_EQ(runI32(body, x, countOf(rest)), expected);
    }
}

TEST_P(Tiles, index_of_the_first_maximum) {
  for (const Shape &shape : {Shape{1024}, Shape{8, 64}, Shape{2, 2, 2, 2, 2, 2, 2, 2, 2, 2}}) {
    int axis = int(shape.size()) - 1;
    Shape rest(shape.begin(), shape.end() - 1);
    auto x = smallIntegers(countOf(shape), 2);
    std::string ti32 = tile(shape, "i32");
    std::string body = loadTile("t", "x", "i32", shape) +
                       "  %all = tt.make_range {end = " + std::to_string(countOf(shape)) +
                       " : i32, start = 0 : i32} : " + tile({countOf(shape)}, "i32") +
                       "\n  %n = tt.reshape %all : " + tile({countOf(shape)}, "i32") + " -> " + ti32 + R"(
  %v, %r = "tt.reduce"(%t, %n) <{axis = )" +
                       std::to_string(axis) + R"( : i32}> ({
  ^bb0(%a: i32, %ai: i32, %b: i32, %bi: i32):
    %gt = arith.cmpi sgt, %a, %b : i32
    %eq = arith.cmpi eq, %a, %b : i32
    %lt = arith.cmpi slt, %ai, %bi : i32
    %tie = arith.andi %eq, %lt : i1
    %c = arith.ori %gt, %tie : i1
    %s = arith.select %c, %a, %b : i32
    %si = arith.select %c, %ai, %bi : i32
    tt.reduce.return %s, %si : i32, i32
  }) : ()" + ti32 + ", " +
                       ti32 + ") -> (" + tile(rest, "i32") + ", " + tile(rest, "i32") + ")\n" +
                       storeTile("r", "o", "i32", rest);
    std::vector<int32_t> expected;
    forLines(shape, axis, [&](int64_t first, int64_t stride) {
      int64_t best = first;
      for (int64_t i = 1; i < shape[axis]; ++i)
        if (x[first + i * stride] > x[best])
          best = first + i * stride;
      expected.push_back(int32_t(best));
    });
    EXPECT_EQ(runI32(body, x, countOf(rest)), expected) << ti32;
  }
}

TEST_P(Tiles, scans_along_every_axis_both_ways) {
  for (const Shape &shape : shapes)
    for (int axis = 0; axis < int(shape.size()); ++axis)
      for (bool reverse : {false, true}) {
        SCOPED_TRACE(tile(shape, "i32") + " axis " + std::to_string(axis) + (reverse ? " reverse" : ""));
        auto x = smallIntegers(countOf(shape), 3);
        // Not commutative: 3 a + b keeps the order visible; it is not associative, but runs in order on one line of
        // two.
        bool ordered = shape[axis] <= 2;
        std::string body = loadTile("t", "x", "i32", shape) + R"(  %c3 = arith.constant )" + (ordered ? "3" : "1") +
                           R"( : i32
  %r = "tt.scan"(%t) <{axis = )" +
                           std::to_string(axis) + " : i32, reverse = " + (reverse ? "true" : "false") + R"(}> ({
  ^bb0(%a: i32, %b: i32):
    %m = arith.muli %a, %c3 : i32
    %s = arith.addi %m, %b : i32
    tt.scan.return %s : i32
  }) : ()" + tile(shape, "i32") +
                           ") -> " + tile(shape, "i32") + "\n" + storeTile("r", "o", "i32", shape);
        auto expected = x;
        forLines(shape, axis, [&](int64_t first, int64_t stride) {
          for (int64_t i = 1; i < shape[axis]; ++i) {
            int64_t at = reverse ? shape[axis] - 1 - i : i, before = reverse ? at + 1 : at - 1;
            expected[first + at * stride] += (ordered ? 3 : 1) * expected[first + before * stride];
          }
        });
        ASSERT_EQ(runI32(body, x, countOf(shape)), expected);
      }
}

// Pairs (a, b) stand for x -> a x + b: what one after the other does is associative, and its order matters.
TEST_P(Tiles, scans_of_pairs_keep_the_order) {
  for (const Shape &shape : {Shape{1024}, Shape{2048}, Shape{16}, Shape{8, 64}, Shape{64, 32}, Shape{4, 8, 16}})
    for (int axis = 0; axis < int(shape.size()); ++axis)
      for (bool reverse : {false, true}) {
        SCOPED_TRACE(tile(shape, "i32") + " axis " + std::to_string(axis) + (reverse ? " reverse" : ""));
        auto x = smallIntegers(countOf(shape), 8);
        std::string type = tile(shape, "i32");
        std::string body = loadTile("t", "x", "i32", shape) + "  %seven = arith.constant dense<7> : " + type +
                           "\n  %u = arith.xori %t, %seven : " + type + R"(
  %f:2 = "tt.scan"(%t, %u) <{axis = )" +
                           std::to_string(axis) + " : i32, reverse = " + (reverse ? "true" : "false") + R"(}> ({
  ^bb0(%a: i32, %b: i32, %c: i32, %d: i32):
    %ac = arith.muli %a, %c : i32
    %bc = arith.muli %b, %c : i32
    %bd = arith.addi %bc, %d : i32
    tt.scan.return %ac, %bd : i32, i32
  }) : ()" + type + ", " + type +
                           ") -> (" + type + ", " + type + ")\n  %r = arith.addi %f#0, %f#1 : " + type + "\n" +
                           storeTile("r", "o", "i32", shape);
        std::vector<int32_t> expected(x.size());
        forLines(shape, axis, [&](int64_t first, int64_t stride) {
          uint32_t a = 1, b = 0;
          for (int64_t i = 0; i < shape[axis]; ++i) {
            int64_t at = first + (reverse ? shape[axis] - 1 - i : i) * stride;
            auto c = uint32_t(x[at]), d = uint32_t(x[at] ^ 7);
            a *= c, b = b * c + d;
            expected[at] = int32_t(a + b);
          }
        });
        ASSERT_EQ(runI32(body, x, countOf(shape)), expected);
      }
}

TEST_P(Tiles, transposes) {
  std::vector<std::pair<Shape, Shape>> cases{{{4, 32}, {1, 0}},       {{32, 4}, {1, 0}},
                                             {{2, 16, 8}, {2, 0, 1}}, {{2, 16, 8}, {1, 2, 0}},
                                             {{2, 16, 8}, {0, 2, 1}}, {{2, 4, 8, 16}, {3, 1, 2, 0}},
                                             {{64, 64}, {1, 0}}};
  for (auto &[shape, order] : cases) {
    Shape result;
    std::string orderText;
    for (int64_t d : order)
      result.push_back(shape[d]), orderText += (orderText.empty() ? "" : ", ") + std::to_string(d);
    auto x = smallIntegers(countOf(shape), 4);
    auto strides = stridesOf(shape), resultStrides = stridesOf(result);
    std::vector<int32_t> expected(x.size());
    for (int64_t i = 0; i < countOf(result); ++i) {
      int64_t source = 0;
      for (size_t d = 0; d < result.size(); ++d)
        source += i / resultStrides[d] % result[d] * strides[order[d]];
      expected[i] = x[source];
    }
    EXPECT_EQ(runI32(loadTile("t", "x", "i32", shape) + "  %r = tt.trans %t {order = array<i32: " + orderText +
                         ">} : " + tile(shape, "i32") + " -> " + tile(result, "i32") + "\n" +
                         storeTile("r", "o", "i32", result),
                     x, countOf(result)),
              expected)
        << tile(shape, "i32") << " " << orderText;
  }
}

TEST_P(Tiles, gather_along_every_axis) {
  for (const Shape &shape : {Shape{64}, Shape{8, 32}, Shape{4, 8, 16}})
    for (int axis = 0; axis < int(shape.size()); ++axis) {
      auto indices = smallIntegers(countOf(shape), 5);
      for (int32_t &index : indices)
        index = (index + 100) % int32_t(shape[axis]);
      // The source is x + 1000 * position, made of the indices themselves.
      auto strides = stridesOf(shape);
      std::vector<int32_t> expected(indices.size());
      for (int64_t i = 0; i < countOf(shape); ++i) {
        int64_t at = i + (indices[i] - i / strides[axis] % shape[axis]) * strides[axis];
        expected[i] = int32_t(at) * 1000;
      }
      std::string ti32 = tile(shape, "i32"), all = tile({countOf(shape)}, "i32");
      EXPECT_EQ(runI32(loadTile("t", "x", "i32", shape) +
                           "  %n = tt.make_range {end = " + std::to_string(countOf(shape)) +
                           " : i32, start = 0 : i32} : " + all + "\n  %k = arith.constant dense<1000> : " + all +
                           "\n  %v = arith.muli %n, %k : " + all + "\n  %s = tt.reshape %v : " + all + " -> " + ti32 +
                           "\n  %r = tt.gather %s[%t] {axis = " + std::to_string(axis) + " : i32} : (" + ti32 + ", " +
                           ti32 + ") -> " + ti32 + "\n" + storeTile("r", "o", "i32", shape),
                       indices, countOf(shape)),
                expected)
          << ti32 << " axis " << axis;
    }
}

TEST_P(Tiles, histogram_counts) {
  auto x = smallIntegers(1024, 6);
  std::vector<int32_t> expected(256);
  for (int32_t &value : x)
    ++expected[value += 100];
  EXPECT_EQ(runI32(loadTile("t", "x", "i32", {1024}) +
                       "  %r = tt.histogram %t : tensor<1024xi32> -> tensor<256xi32>\n" +
                       storeTile("r", "o", "i32", {256}),
                   x, 256),
            expected);
}

TEST_P(Tiles, join_then_split_swaps) {
  auto x = smallIntegers(64, 7);
  std::vector<int32_t> expected;
  for (int64_t i = 0; i < 64; ++i)
    expected.push_back(x[i] * 10 - x[i]);
  EXPECT_EQ(runI32(loadTile("t", "x", "i32", {4, 16}) + R"(
  %k = arith.constant dense<10> : tensor<4x16xi32>
  %u = arith.muli %t, %k : tensor<4x16xi32>
  %j = tt.join %t, %u : tensor<4x16xi32> -> tensor<4x16x2xi32>
  %first, %second = tt.split %j : tensor<4x16x2xi32> -> tensor<4x16xi32>
  %r = arith.subi %second, %first : tensor<4x16xi32>
)" + storeTile("r", "o", "i32", {4, 16}),
                   x, 64),
            expected);
}
