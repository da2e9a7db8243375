// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What each function of the C++ builder computes: small kernels, run by the reference evaluator and on the test device,
// against numbers computed by hand.
#include "frontend/build/Build.h"
#include "support/TestDevice.h"
#include "tests/executors/Executor.h"
#include "tests/reference/TestSupport.h"
#include <cmath>
#include <cstring>

namespace heddle::build_test {
using namespace heddle::build;
using namespace heddle::reference;
using heddle::reference::Argument;

// clang-format off
template <class E> struct Storage;
template <> struct Storage<f32> { using type = float; };
template <> struct Storage<f64> { using type = double; };
template <> struct Storage<f16> { using type = uint16_t; };
template <> struct Storage<bf16> { using type = uint16_t; };
template <> struct Storage<f8E4M3FN> { using type = uint8_t; };
template <> struct Storage<f8E5M2> { using type = uint8_t; };
template <> struct Storage<i64> { using type = int64_t; };
template <> struct Storage<i32> { using type = int32_t; };
template <> struct Storage<i16> { using type = int16_t; };
template <> struct Storage<i8> { using type = int8_t; };
template <> struct Storage<i1> { using type = uint8_t; };
template <> struct Storage<u64> { using type = uint64_t; };
template <> struct Storage<u32> { using type = uint32_t; };
template <> struct Storage<u8> { using type = uint8_t; };
// clang-format on
template <class E>
using Buffer = std::vector<typename Storage<E>::type>;

// NaNs of f32 become the one that `NAN` is: devices differ in the bits of those that they make.
static std::vector<uint8_t> withOneNaN(std::vector<uint8_t> bytes) {
  for (size_t at = 0; at + sizeof(float) <= bytes.size(); at += sizeof(float)) {
    float value;
    std::memcpy(&value, &bytes[at], sizeof value);
    if (std::isnan(value))
      std::memcpy(&bytes[at], &(value = NAN), sizeof value);
  }
  return bytes;
}

// Runs a kernel of these arguments both ways, expects the same bytes, and returns the arguments. The last one may be
// results of f32.
template <class F>
static std::vector<Argument> runBoth(std::vector<Argument> arguments, F body, Grid grid = {}, bool isF32 = false) {
  std::vector<heddle::build::Argument> names;
  for (size_t i = 0; i < arguments.size(); ++i)
    names.push_back("a" + std::to_string(i));
  std::string text = kernel("k", std::span<const heddle::build::Argument>(names), body).text();
  static auto device = heddle::executors::makeExecutor(testDevice());
  std::vector<Argument> onDevice = arguments;
  evaluateText(text, grid, arguments);
  device->run(text, grid, onDevice);
  if (isF32)
    for (Argument *last : {&onDevice.back(), &arguments.back()})
      last->bytes = withOneNaN(std::move(last->bytes));
  for (size_t i = 0; i < arguments.size(); ++i)
    EXPECT_EQ(onDevice[i].bytes, arguments[i].bytes) << "argument " << i << " of\n" << text;
  return arguments;
}

// A kernel that writes `count` elements of type E into its last argument.
template <class E, class F>
static Buffer<E> run(size_t count, std::vector<Argument> inputs, F body) {
  inputs.push_back(zeros<typename Storage<E>::type>(count));
  return valuesOf<typename Storage<E>::type>(runBoth(std::move(inputs), body, {}, std::is_same_v<E, f32>).back());
}

// out[i] = f(x[i]) and out[i] = f(x[i], y[i]), on tiles of 8.
template <class In, class Out, class F>
static Buffer<Out> map(Buffer<In> x, F function) {
  size_t count = x.size();
  x.resize(8);
  auto result = run<Out>(8, {bufferOf(x)}, [&](Pointer<In> from, Pointer<Out> out) {
    store(out + range<8>(), function(load(from + range<8>())));
  });
  result.resize(count);
  return result;
}
template <class In, class Out, class F>
static Buffer<Out> map2(Buffer<In> x, Buffer<In> y, F function) {
  size_t count = x.size();
  x.resize(8), y.resize(8, 1);
  auto result = run<Out>(8, {bufferOf(x), bufferOf(y)}, [&](Pointer<In> a, Pointer<In> b, Pointer<Out> out) {
    store(out + range<8>(), function(load(a + range<8>()), load(b + range<8>())));
  });
  result.resize(count);
  return result;
}

using I = std::vector<int32_t>;
using F = std::vector<float>;
using B = std::vector<uint8_t>;

//===-- Operators ------------------------------------------------------------------------------------------------===//

TEST(Operators, of_signed_integers) {
  auto ints = [](auto function) { return map2<i32, i32>({7, -7, 9}, {2, 2, -4}, function); };
  EXPECT_EQ(ints([](auto x, auto y) { return x + y; }), (I{9, -5, 5}));
  EXPECT_EQ(ints([](auto x, auto y) { return x - y; }), (I{5, -9, 13}));
  EXPECT_EQ(ints([](auto x, auto y) { return x * y; }), (I{14, -14, -36}));
  EXPECT_EQ(ints([](auto x, auto y) { return x / y; }), (I{3, -3, -2}));
  EXPECT_EQ(ints([](auto x, auto y) { return x % y; }), (I{1, -1, 1}));
  EXPECT_EQ(ints([](auto x, auto y) { return x & y; }), (I{2, 0, 8}));
  EXPECT_EQ(ints([](auto x, auto y) { return x | y; }), (I{7, -5, -3}));
  EXPECT_EQ(ints([](auto x, auto y) { return x ^ y; }), (I{5, -5, -11}));
  EXPECT_EQ(ints([](auto x, auto) { return x << 2; }), (I{28, -28, 36}));
  EXPECT_EQ(ints([](auto x, auto) { return x >> 1; }), (I{3, -4, 4}));
  EXPECT_EQ(ints([](auto x, auto) { return -x; }), (I{-7, 7, -9}));
  EXPECT_EQ(ints([](auto x, auto) { return ~x; }), (I{-8, 6, -10}));
  EXPECT_EQ(ints([](auto x, auto) { return 1 - x; }), (I{-6, 8, -8}));
  EXPECT_EQ(ints([](auto x, auto y) {
              x += y, x *= 2;
              return x;
            }),
            (I{18, -10, 10}));
}

TEST(Operators, of_unsigned_integers) {
  auto words = [](auto function) { return map2<u32, u32>({0xFFFFFFFE, 7}, {3, 2}, function); };
  using U = std::vector<uint32_t>;
  EXPECT_EQ(words([](auto x, auto y) { return x / y; }), (U{0x55555554, 3}));
  EXPECT_EQ(words([](auto x, auto y) { return x % y; }), (U{2, 1}));
  EXPECT_EQ(words([](auto x, auto) { return x >> 1; }), (U{0x7FFFFFFF, 3}));
  EXPECT_EQ(words([](auto x, auto y) { return maximum(x, y); }), (U{0xFFFFFFFE, 7}));
  EXPECT_EQ(words([](auto x, auto y) { return minimum(x, y); }), (U{3, 2}));
  EXPECT_EQ(words([](auto x, auto y) { return multiplyHigh(x, y); }), (U{2, 0}));
  EXPECT_EQ((map2<u32, i1>({0xFFFFFFFE, 1}, {3, 2}, [](auto x, auto y) { return x < y; })), (B{0, 1}));
}

TEST(Operators, of_floats) {
  auto floats = [](auto function) { return map2<f32, f32>({6, -1.5}, {4, 0.5}, function); };
  EXPECT_EQ(floats([](auto x, auto y) { return x + y; }), (F{10, -1}));
  EXPECT_EQ(floats([](auto x, auto y) { return x - y; }), (F{2, -2}));
  EXPECT_EQ(floats([](auto x, auto y) { return x * y; }), (F{24, -0.75}));
  EXPECT_EQ(floats([](auto x, auto y) { return x / y; }), (F{1.5, -3}));
  EXPECT_EQ(floats([](auto x, auto y) { return preciseDivide(x, y); }), (F{1.5, -3}));
  EXPECT_EQ(floats([](auto x, auto) { return -x; }), (F{-6, 1.5}));
  EXPECT_EQ(floats([](auto x, auto) { return 2 * x + 0.5; }), (F{12.5, -2.5}));
  EXPECT_EQ(floats([](auto x, auto y) { return fusedMultiplyAdd(x, y, y); }), (F{28, -0.25}));
  EXPECT_EQ(floats([](auto x, auto) { return clamp(x, -1, 5); }), (F{5, -1}));
}

TEST(Operators, comparisons_and_logic) {
  auto bits = [](auto function) { return map2<i32, i1>({-1, 2, 2}, {2, 2, 1}, function); };
  EXPECT_EQ(bits([](auto x, auto y) { return x == y; }), (B{0, 1, 0}));
  EXPECT_EQ(bits([](auto x, auto y) { return x != y; }), (B{1, 0, 1}));
  EXPECT_EQ(bits([](auto x, auto y) { return x < y; }), (B{1, 0, 0}));
  EXPECT_EQ(bits([](auto x, auto y) { return x <= y; }), (B{1, 1, 0}));
  EXPECT_EQ(bits([](auto x, auto y) { return x > y; }), (B{0, 0, 1}));
  EXPECT_EQ(bits([](auto x, auto y) { return x >= y; }), (B{0, 1, 1}));
  EXPECT_EQ(bits([](auto x, auto y) { return x == 2 && y == 2; }), (B{0, 1, 0}));
  EXPECT_EQ(bits([](auto x, auto y) { return x < 0 || y == 1; }), (B{1, 0, 1}));
  EXPECT_EQ(bits([](auto x, auto y) { return !(x == y); }), (B{1, 0, 1}));
  float nan = NAN;
  EXPECT_EQ((map2<f32, i1>({nan, 1}, {nan, 1}, [](auto x, auto y) { return x != y; })), (B{1, 0}));
  EXPECT_EQ((map2<f32, i1>({nan, 1}, {1, 2}, [](auto x, auto y) { return x < y; })), (B{0, 1}));
}

TEST(Operators, broadcast_scalars_and_dimensions_of_1) {
  EXPECT_EQ(run<i32>(8, {scalarI32(100)},
                     [](Scalar<i32> n, Pointer<i32> out) {
                       auto r = range<2>();
                       auto c = range<4>();
                       auto table = column(r) * 10 + row(c) + n;
                       static_assert(std::is_same_v<decltype(table), Tile<i32, 2, 4>>);
                       store(out + column(r) * 4 + row(c), table);
                     }),
            (I{100, 101, 102, 103, 110, 111, 112, 113}));
}

//===-- Functions of elements ------------------------------------------------------------------------------------===//

TEST(Elementwise, mathematics) {
  auto of = [](float x, auto function) { return map<f32, f32>({x}, function)[0]; };
  EXPECT_EQ(of(-2.5, [](auto x) { return abs(x); }), 2.5f);
  EXPECT_EQ(of(-2.5, [](auto x) { return floor(x); }), -3);
  EXPECT_EQ(of(-2.5, [](auto x) { return ceil(x); }), -2);
  EXPECT_EQ(of(6.25, [](auto x) { return sqrt(x); }), 2.5f);
  EXPECT_EQ(of(6.25, [](auto x) { return preciseSqrt(x); }), 2.5f);
  EXPECT_EQ((map<i32, i32>({-3, 4}, [](auto x) { return abs(x); })), (I{3, 4}));
  EXPECT_EQ((map<i32, i32>({7, 8}, [](auto x) { return ceilDivide(x, 4); })), (I{2, 2}));
}

// Reference and host round these differently; each is compared with the C++ library.
TEST(Elementwise, transcendental_functions) {
  using Function = Tile<f32, 8> (*)(const Tile<f32, 8> &, Position);
  std::pair<Function, double (*)(double)> functions[] = {
      {exp<f32, 8>, std::exp}, {exp2<f32, 8>, std::exp2},
      {log<f32, 8>, std::log}, {log2<f32, 8>, std::log2},
      {erf<f32, 8>, std::erf}, {sin<f32, 8>, std::sin},
      {cos<f32, 8>, std::cos}, {rsqrt<f32, 8>, [](double x) { return 1 / std::sqrt(x); }}};
  for (auto [function, expected] : functions) {
    std::vector<Argument> arguments{bufferOf(F{0.7f, 1.5f, 3, 0.1f, 1, 2, 5, 9}), zeros<float>(8)};
    evaluateText(kernel("k", {"x", "out"},
                        [function](Pointer<f32> x, Pointer<f32> out) {
                          store(out + range<8>(), function(load(x + range<8>()), Position::current()));
                        })
                     .text(),
                 {}, arguments);
    EXPECT_NEAR(valuesOf<float>(arguments[1])[0], expected(0.7f), 1e-6);
    EXPECT_NEAR(valuesOf<float>(arguments[1])[2], expected(3), 4e-6);
  }
}

TEST(Elementwise, maximum_minimum_select) {
  float nan = NAN;
  auto pairs = [](F x, F y, auto function) { return map2<f32, f32>(x, y, function); };
  EXPECT_EQ(pairs({1, nan}, {2, 3}, [](auto x, auto y) { return maximum(x, y); }), (F{2, 3}));
  EXPECT_EQ(pairs({1, nan}, {2, 3}, [](auto x, auto y) { return minimum(x, y); }), (F{1, 3}));
  auto propagated = [](auto x, auto y) { return maximum(x, y, NaN::Propagated); };
  EXPECT_TRUE(std::isnan(pairs({nan}, {3}, propagated)[0]));
  EXPECT_EQ(pairs({1, 5}, {2, 3}, [](auto x, auto y) { return select(x < y, x, 0); }), (F{1, 0}));
  EXPECT_EQ((map<i32, i32>({1, 5}, [](auto x) { return maximum(x, 3); })), (I{3, 5}));
}

TEST(Elementwise, casts) {
  EXPECT_EQ((map<f32, i32>({2.9f, -2.9f}, [](auto x) { return cast<i32>(x); })), (I{2, -2}));
  EXPECT_EQ((map<i32, f32>({-1, 3}, [](auto x) { return cast<f32>(x); })), (F{-1, 3}));
  EXPECT_EQ((map<u32, f32>({0x80000000, 3}, [](auto x) { return cast<f32>(x); })), (F{2147483648.0f, 3}));
  EXPECT_EQ((map<i8, i32>({-1, 3}, [](auto x) { return cast<i32>(x); })), (I{-1, 3}));
  EXPECT_EQ((map<u8, i32>({255, 3}, [](auto x) { return cast<i32>(x); })), (I{255, 3}));
  EXPECT_EQ((map<i32, i8>({257, -1}, [](auto x) { return cast<i8>(x); })), (std::vector<int8_t>{1, -1}));
  EXPECT_EQ((map<f32, i1>({0.5f, 0}, [](auto x) { return cast<i1>(x); })), (B{1, 0}));
  EXPECT_EQ((map<i1, f32>({1, 0}, [](auto x) { return cast<f32>(x); })), (F{1, 0}));
  EXPECT_EQ((map<f32, f16>({1.5f}, [](auto x) { return cast<f16>(x); }))[0], 0x3E00);
  EXPECT_EQ((map<f16, bf16>({0x3E00}, [](auto x) { return cast<bf16>(x); }))[0], 0x3FC0);
  EXPECT_EQ((map<f64, f32>({1.25}, [](auto x) { return cast<f32>(x); })), (F{1.25}));
}

TEST(Elementwise, casts_of_fp8) {
  EXPECT_EQ((map<f32, f8E4M3FN>({1.5f, -448}, [](auto x) { return cast<f8E4M3FN>(x); })), (B{0x3C, 0xFE}));
  EXPECT_EQ((map<f8E4M3FN, f32>({0x3C, 0xFE}, [](auto x) { return cast<f32>(x); })), (F{1.5f, -448}));
  EXPECT_EQ((map<f8E4M3FN, f8E5M2>({0x3C}, [](auto x) { return cast<f8E5M2>(x); })), (B{0x3E}));
  EXPECT_EQ((map<f8E4M3FN, i32>({0x40}, [](auto x) { return cast<i32>(x); })), (I{2}));
  EXPECT_EQ((map<i32, f8E5M2>({2}, [](auto x) { return cast<f8E5M2>(x); })), (B{0x40}));
  EXPECT_EQ((map<f8E4M3FN, i1>({0x40, 0}, [](auto x) { return cast<i1>(x); })), (B{1, 0}));
}

TEST(Elementwise, bits) {
  EXPECT_EQ((map<f32, i32>({1}, [](auto x) { return bitcast<i32>(x); })), (I{0x3F800000}));
  EXPECT_EQ((map<i32, i32>({-8}, [](auto x) { return cast<i32>(bitcast<u32>(x) >> 28); })), (I{15}));
}

//===-- Shapes ---------------------------------------------------------------------------------------------------===//

TEST(Shapes, fill_and_range) {
  EXPECT_EQ(run<i32>(4, {}, [](Pointer<i32> out) { store(out + range<4>(), range<3, 7>()); }), (I{3, 4, 5, 6}));
  EXPECT_EQ(
      run<i32>(4, {scalarI32(9)}, [](Scalar<i32> n, Pointer<i32> out) { store(out + range<4>(), full<i32, 4>(n)); }),
      (I{9, 9, 9, 9}));
  EXPECT_EQ(run<f32>(2, {}, [](Pointer<f32> out) { store(out + range<2>(), full<f32, 2>(0.1)); }), (F{0.1f, 0.1f}));
}

TEST(Shapes, reshape_and_transpose) {
  EXPECT_EQ(
      run<i32>(8, {}, [](Pointer<i32> out) { store(out + range<8>(), reshape<8>(trans(reshape<2, 4>(range<8>())))); }),
      (I{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(run<i32>(8, {},
                     [](Pointer<i32> out) {
                       auto cube = trans<1, 2, 0>(reshape<2, 1, 4>(range<8>()));
                       static_assert(std::is_same_v<decltype(cube), Tile<i32, 1, 4, 2>>);
                       store(out + range<8>(), reshape<8>(cube));
                     }),
            (I{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(
      run<i32>(4, {},
               [](Pointer<i32> out) { store(out + range<4>(), reshape<4>(broadcast<2, 2>(column(range<2>())))); }),
      (I{0, 0, 1, 1}));
}

TEST(Shapes, join_split_concatenate) {
  EXPECT_EQ(
      run<i32>(8, {}, [](Pointer<i32> out) { store(out + range<8>(), reshape<8>(join(range<4>(), range<4>() * 10))); }),
      (I{0, 0, 1, 10, 2, 20, 3, 30}));
  EXPECT_EQ(run<i32>(4, {},
                     [](Pointer<i32> out) {
                       auto [even, odd] = split(reshape<4, 2>(range<8>()));
                       store(out + range<4>(), even * 10 + odd);
                     }),
            (I{1, 23, 45, 67}));
  EXPECT_EQ(run<i32>(1, {}, [](Pointer<i32> out) { store(out, sum(concatenate(range<4>(), range<4>()))); }), (I{12}));
}

TEST(Shapes, gather_and_histogram) {
  EXPECT_EQ((map<i32, i32>({5, 6, 7, 8}, [](auto x) { return gather(x, (range<8>() + 1) & 3, axis<0>()); })),
            (I{6, 7, 8, 5}));
  EXPECT_EQ(run<i32>(4, {}, [](Pointer<i32> out) { store(out + range<4>(), histogram<4>(range<8>() & 1)); }),
            (I{4, 4, 0, 0}));
  EXPECT_EQ(
      run<i32>(4, {}, [](Pointer<i32> out) { store(out + range<4>(), histogram<4>(range<8>() & 1, range<8>() < 3)); }),
      (I{2, 1, 0, 0}));
}

//===-- Reductions -----------------------------------------------------------------------------------------------===//

TEST(Reductions, along_an_axis) {
  auto table = [](auto function) {
    return run<i32>(4, {}, [&](Pointer<i32> out) { store(out + range<4>(), function(reshape<2, 4>(range<8>() ^ 5))); });
  }; // 5 4 7 6 / 1 0 3 2
  EXPECT_EQ(table([](auto x) { return sum(x, axis<0>()); }), (I{6, 4, 10, 8}));
  EXPECT_EQ(table([](auto x) { return max(x, axis<0>()); }), (I{5, 4, 7, 6}));
  EXPECT_EQ(table([](auto x) { return min(x, axis<0>()); }), (I{1, 0, 3, 2}));
  EXPECT_EQ(table([](auto x) { return broadcast<4>(full<i32, 1>(sum(x))); }), (I{28, 28, 28, 28}));
  EXPECT_EQ(table([](auto x) { return argmax(trans(x), axis<1>()); }), (I{0, 0, 0, 0}));
  EXPECT_EQ(table([](auto x) { return argmin(trans(x), axis<1>()); }), (I{1, 1, 1, 1}));
  EXPECT_EQ(table([](auto x) { return reduceXor(x, axis<0>()); }), (I{4, 4, 4, 4}));
  EXPECT_EQ(table([](auto x) { return reduceAnd(x, axis<0>()) + reduceOr(x, axis<0>()); }), (I{6, 4, 10, 8}));
}

TEST(Reductions, any_function_and_several_tiles) {
  EXPECT_EQ((run<f32>(1, {},
                      [](Pointer<f32> out) {
                        auto x = cast<f32>(range<4>() + 1);
                        store(out, reduce(x, axis<0>(), [](Scalar<f32> a, Scalar<f32> b) { return a * b; }));
                      })),
            (F{24}));
  EXPECT_EQ((run<i32>(2, {},
                      [](Pointer<i32> out) {
                        auto x = range<8>();
                        auto [low, high] = reduce(carry(x, x * 2), axis<0>(),
                                                  [](Scalar<i32> a, Scalar<i32> b, Scalar<i32> c, Scalar<i32> d) {
                                                    return carry(minimum(a, c), maximum(b, d));
                                                  });
                        store(out, low), store(out + 1, high);
                      })),
            (I{0, 14}));
  EXPECT_EQ((map<f32, i32>({3, 9, 9, 1}, [](auto x) { return full<i32, 8>(argmax(x, axis<0>())); }))[0], 1);
}

TEST(Reductions, scans) {
  EXPECT_EQ((map<i32, i32>({1, 2, 3, 4}, [](auto x) { return cumulativeSum(x, axis<0>()); })), (I{1, 3, 6, 10}));
  EXPECT_EQ((map<i32, i32>({1, 2, 3, 4}, [](auto x) { return cumulativeSum(x, axis<0>(), true); })), (I{10, 9, 7, 4}));
  EXPECT_EQ((map<i32, i32>({1, 2, 3, 4}, [](auto x) { return cumulativeProduct(x, axis<0>()); })), (I{1, 2, 6, 24}));
  EXPECT_EQ((map<i32, i32>(
                {4, 2, 7, 4},
                [](auto x) { return scan(x, axis<0>(), [](Scalar<i32> a, Scalar<i32> b) { return maximum(a, b); }); })),
            (I{4, 4, 7, 7}));
}

TEST(Reductions, dot) {
  auto square = [](Tile<i32, 256> x) { return reshape<16, 16>(x); };
  EXPECT_EQ((run<f32>(2, {},
                      [&](Pointer<f32> out) {
                        auto a = cast<f16>(square(range<256>() & 3)), b = cast<f16>(square(range<256>() >> 4));
                        auto c = dot(a, b, full<f32, 16, 16>(0.5));
                        store(out, max(c)), store(out + 1, min(dot(a, b, c)));
                      })),
            (F{200.5f, 400.5f})); // rows of a: 0 1 2 3 0 1 ...; columns of b: 0 ... 15; the sum of k (k & 3) is 200
  EXPECT_EQ((run<i32>(1, {},
                      [&](Pointer<i32> out) {
                        auto a = cast<i8>(square(range<256>() & 3));
                        store(out, sum(dot(a, trans(a))));
                      })),
            (I{16 * 16 * 56}));
}

//===-- Memory ---------------------------------------------------------------------------------------------------===//

TEST(Memory, masks_and_others) {
  EXPECT_EQ((run<i32>(4, {bufferOf(I{1, 2})},
                      [](Pointer<i32> x, Pointer<i32> out) {
                        auto i = range<4>();
                        store(out + i, load(x + i, i < 2, -5), i != 1);
                      })),
            (I{1, 0, -5, -5}));
  EXPECT_EQ((run<i32>(1, {bufferOf(I{1, 2}), scalarI32(1)},
                      [](Pointer<i32> x, Scalar<i32> n, Pointer<i32> out) { store(out, load(x + n, n > 0) + 1); })),
            (I{3}));
  EXPECT_EQ((run<f32>(4, {bufferOf(F{1, 2, 3, 4})},
                      [](Pointer<f32> x, Pointer<f32> out) {
                        auto i = range<4>();
                        auto v = load(x + i, Absent(), Absent(), {.cache = Cache::Global, .eviction = Eviction::First});
                        store(out + i, v, Absent(), {.cache = Cache::Streaming, .eviction = Eviction::Last});
                      })),
            (F{1, 2, 3, 4}));
}

TEST(Memory, bools_are_bytes) {
  EXPECT_EQ((map<i1, i1>({0, 1, 2}, [](auto x) { return !x; })), (B{1, 0, 0}));
}

TEST(Memory, addresses) {
  EXPECT_EQ((run<i32>(1, {bufferOf(F{1, 2})},
                      [](Pointer<f32> x, Pointer<i32> out) {
                        auto second = pointerAt<f32>(address(x) + 4);
                        store(out, load(pointerCast<i32>(second)));
                      })),
            (I{0x40000000}));
}

TEST(Memory, atomics_of_integers) {
  auto after = [](auto action) {
    auto result =
        runBoth({bufferOf(I{6}), zeros<int32_t>(1)}, [&](Pointer<i32> x, Pointer<i32> out) { store(out, action(x)); });
    return I{valuesOf<int32_t>(result[0])[0], valuesOf<int32_t>(result[1])[0]};
  };
  EXPECT_EQ(after([](auto x) { return atomicAdd(x, 3); }), (I{9, 6}));
  EXPECT_EQ(after([](auto x) { return atomicMax(x, 8, Order::Relaxed); }), (I{8, 6}));
  EXPECT_EQ(after([](auto x) { return atomicMin(x, -8, Order::Acquire, Scope::System); }), (I{-8, 6}));
  EXPECT_EQ(after([](auto x) { return atomicAnd(x, 3); }), (I{2, 6}));
  EXPECT_EQ(after([](auto x) { return atomicOr(x, 1); }), (I{7, 6}));
  EXPECT_EQ(after([](auto x) { return atomicXor(x, 3); }), (I{5, 6}));
  EXPECT_EQ(after([](auto x) { return atomicExchange(x, 1, Order::Release, Scope::Program); }), (I{1, 6}));
  EXPECT_EQ(after([](auto x) { return atomicCompareAndSwap(x, 6, 1); }), (I{1, 6}));
  EXPECT_EQ(after([](auto x) { return atomicCompareAndSwap(x, 5, 1); }), (I{6, 6}));
  EXPECT_EQ(after([](auto x) { return bitcast<i32>(atomicMax(pointerCast<u32>(x), 0xFFFFFFFFu)); }), (I{-1, 6}));
}

TEST(Memory, atomics_of_floats_under_a_mask) {
  auto after = [](auto action) {
    auto arguments =
        runBoth({bufferOf(F{1, -2, 3, -4})}, [&](Pointer<f32> x) { action(x + range<4>(), range<4>() < 3); });
    return valuesOf<float>(arguments[0]);
  };
  EXPECT_EQ(after([](auto p, auto mask) { atomicAdd(p, 0.5, mask); }), (F{1.5, -1.5, 3.5, -4}));
  EXPECT_EQ(after([](auto p, auto mask) { atomicMax(p, -1, mask, Order::Relaxed); }), (F{1, -1, 3, -4}));
  EXPECT_EQ(after([](auto p, auto mask) { atomicMax(p, 2, mask, Order::Relaxed); }), (F{2, 2, 3, -4}));
  EXPECT_EQ(after([](auto p, auto mask) { atomicMin(p, -3, mask); }), (F{-3, -3, -3, -4}));
  EXPECT_EQ(after([](auto p, auto) { atomicMin(p, 2); }), (F{1, -2, 2, -4}));
}

//===-- Control --------------------------------------------------------------------------------------------------===//

TEST(Control, loops) {
  EXPECT_EQ((run<i32>(1, {scalarI32(10)},
                      [](Scalar<i32> n, Pointer<i32> out) {
                        store(out,
                              forRange(0, n, 3, full<i32>(0), [&](Scalar<i32> k, auto total) { return total + k; }));
                      })),
            (I{18}));
  EXPECT_EQ((run<i32>(2, {scalarI32(10)},
                      [](Scalar<i32> n, Pointer<i32> out) {
                        auto [a, b] = forRange(0, n, 1, carry(full<i32>(0), full<i32>(1)),
                                               [](Scalar<i32>, auto a, auto b) { return carry(b, a + b); });
                        store(out, a), store(out + 1, b);
                      })),
            (I{55, 89}));
  EXPECT_EQ((run<i64>(3, {},
                      [](Pointer<i64> out) {
                        forRange(full<i64>(0), 3, 1, [&](Scalar<i64> k) { store(out + k, k * k); },
                                 {.stages = 2, .unroll = 1});
                      })),
            (std::vector<int64_t>{0, 1, 4}));
}

TEST(Control, conditionals) {
  auto signOf = [](int32_t n) {
    return run<i32>(2, {scalarI32(n)}, [](Scalar<i32> n, Pointer<i32> out) {
      store(out, when(n < 0, [&] { return -n; }, [&] { return n * 2; }));
      when(n == 4, [&] { store(out + 1, 7); });
      when(n == 4, [&] { store(out + 1, n + 4); }, [&] { store(out + 1, n); });
    });
  };
  EXPECT_EQ(signOf(-3), (I{3, -3}));
  EXPECT_EQ(signOf(4), (I{8, 8}));
}

TEST(Control, while_loops) {
  EXPECT_EQ((run<i32>(2, {scalarI32(27)},
                      [](Scalar<i32> n, Pointer<i32> out) {
                        auto [last, steps] = whileLoop(
                            carry(n, full<i32>(0)), [](auto n, auto) { return n != 1; },
                            [](auto n, auto steps) { return carry(select(n % 2 == 0, n / 2, 3 * n + 1), steps + 1); });
                        store(out, last), store(out + 1, steps);
                      })),
            (I{1, 111}));
}

TEST(Control, a_spin_lock) {
  auto result = runBoth({zeros<int32_t>(1), zeros<float>(1)},
                        [](Pointer<i32> lock, Pointer<f32> total) {
                          spinWhile([&] { return atomicCompareAndSwap(lock, 0, 1, Order::Acquire) == 1; });
                          store(total, load(total) + cast<f32>(programId() + programCount()));
                          debugBarrier();
                          atomicExchange(lock, 0, Order::Release);
                        },
                        {3, 1, 1});
  EXPECT_EQ(valuesOf<float>(result[1]), (F{12}));
}

TEST(Control, hints_change_no_result) {
  EXPECT_EQ((run<i32>(2, {scalarI32(3)},
                      [](Scalar<i32> n, Pointer<i32> out) {
                        assume(n == 3);
                        store(out + contiguous<2>(range<2>()), constant<2>(full<i32, 2>(n) + 1));
                      })),
            (I{4, 4}));
}

TEST(Control, assertions_name_the_line) {
  std::vector<Argument> arguments{scalarI32(3)};
  std::string text = kernel("k", {"n"}, [](Scalar<i32> n) { assertThat(n < 3, "too many"); }).text();
  std::string error = heddle::reference::errorOf([&] { evaluateText(text, {}, arguments); });
  EXPECT_NE(error.find("too many"), std::string::npos) << error;
  EXPECT_NE(error.find("EvaluateTest.cpp"), std::string::npos) << error;
}

} // namespace heddle::build_test
