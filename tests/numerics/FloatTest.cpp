// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Floating-point arithmetic: correctly rounded in every format, denormals kept, NaN and -0 as the language says.
#include "tests/numerics/Bounds.h"
#include "tests/numerics/PlainFloat.h"
#include "tests/numerics/Support.h"

using namespace heddle::numerics;

// The values where formats and operations have their edges.
template <typename T>
static std::vector<T> specialValues() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values{T(0),
                        T(1),
                        T(1.5),
                        T(3),
                        T(0.1),
                        T(4),
                        T(2) - Limits::epsilon(), // its reciprocal is beside a tie, as that of the largest
                        Limits::min(),
                        Limits::denorm_min(),
                        Limits::min() / 2,
                        Limits::max(),
                        Limits::epsilon(),
                        Limits::infinity(),
                        Limits::quiet_NaN()};
  for (size_t i = 0, count = values.size(); i < count; ++i)
    values.push_back(-values[i]);
  return values;
}

template <typename T>
static const char *nameOf() {
  return sizeof(T) == 4 ? "f32" : "f64";
}

/// expectSame for results that an approximation gives exactly where it may.
template <typename T>
static void expectWithin(std::vector<T> actual, const std::vector<T> &expected, double ulps,
                         const std::function<std::string(size_t)> &operands) {
  for (size_t i = 0; i < expected.size() && ulps > 0; ++i)
    if (isWithin(actual[i], expected[i], ulps))
      actual[i] = expected[i];
  expectSame(actual, expected, operands);
}

// `operation` on pairs: specials with specials, random bits, and numbers of like size.
template <typename T>
static void expectBinary(const std::string &operation, const std::function<T(T, T)> &plain, double ulps = 0) {
  auto [x, y] = allPairs(specialValues<T>());
  x = randomValues<T>(40000, 1, x), y = randomValues<T>(40000, 2, y);
  RandomBits random(3);
  for (size_t i = 20000; i < x.size(); ++i)
    x[i] = T(int32_t(random.next())) / T(1 << 20), y[i] = T(int32_t(random.next())) / T(1 << 24);
  std::string type = nameOf<T>();
  std::vector<T> expected;
  for (size_t i = 0; i < x.size(); ++i)
    expected.push_back(plain(x[i], y[i]));
  std::string text =
      operation.find('@') == std::string::npos ? "  %r = " + operation + " %a, %b : @" + type : operation;
  expectWithin(mapOnDevice<T>({type, type, type}, text, x, y), expected, ulps,
               [&](size_t i) { return operation + " " + show(x[i]) + ", " + show(y[i]); });
}

// maxnumf: the number when there is one, and -0 below +0.
static double numberMaximum(double x, double y) {
  if (std::isnan(x) || std::isnan(y))
    return std::isnan(x) ? y : x;
  if (x == 0 && y == 0)
    return std::signbit(x) ? y : x;
  return std::max(x, y);
}
static double numberMinimum(double x, double y) {
  return -numberMaximum(-x, -y);
}
static double maximum(double x, double y) {
  return std::isnan(x) || std::isnan(y) ? NAN : numberMaximum(x, y);
}
static double minimum(double x, double y) {
  return -maximum(-x, -y);
}

template <typename T>
class Float : public testing::Test {};
using Wides = testing::Types<float, double>;
TYPED_TEST_SUITE(Float, Wides);

TYPED_TEST(Float, arithmetic) {
  using T = TypeParam;
  expectBinary<T>("arith.addf", [](T x, T y) { return x + y; });
  expectBinary<T>("arith.subf", [](T x, T y) { return x - y; });
  expectBinary<T>("arith.mulf", [](T x, T y) { return x * y; });
  bool isF32 = sizeof(T) == 4;
  expectBinary<T>("arith.divf", [](T x, T y) { return x / y; }, isF32 ? boundsOfDevice().divide : 0);
  if (isF32)
    expectBinary<T>("tt.precise_divf", [](T x, T y) { return x / y; });
}

TYPED_TEST(Float, extremes) {
  using T = TypeParam;
  expectBinary<T>("arith.maxnumf", [](T x, T y) { return T(numberMaximum(x, y)); });
  expectBinary<T>("arith.minnumf", [](T x, T y) { return T(numberMinimum(x, y)); });
  expectBinary<T>("arith.maximumf", [](T x, T y) { return T(maximum(x, y)); });
  expectBinary<T>("arith.minimumf", [](T x, T y) { return T(minimum(x, y)); });
}

TYPED_TEST(Float, remainder_is_fmod) {
  using T = TypeParam;
  expectBinary<T>("arith.remf", [](T x, T y) { return std::fmod(x, y); });
}

TYPED_TEST(Float, fused_multiply_add) {
  using T = TypeParam;
  std::string type = nameOf<T>();
  expectBinary<T>("  %r = math.fma %a, %b, %a : @" + type, [](T x, T y) { return std::fma(x, y, x); });
  expectBinary<T>("  %m = arith.mulf %a, %b : @" + type + "\n  %m_1 = arith.negf %m : @" + type +
                      "\n  %r = math.fma %a, %b, %m_1 : @" + type, // the rounding error of the product
                  [](T x, T y) {
                    volatile T product = x * y;
                    return std::fma(x, y, -product);
                  });
}

TYPED_TEST(Float, a_product_and_a_sum_are_not_fused) {
  using T = TypeParam;
  std::string type = nameOf<T>();
  expectBinary<T>("  %m = arith.mulf %a, %b : @" + type + "\n  %r = arith.addf %m, %b : @" + type, [](T x, T y) {
    volatile T product = x * y;
    return product + y;
  });
}

TYPED_TEST(Float, clamp) {
  using T = TypeParam;
  std::string type = nameOf<T>();
  auto [x, bound] = allPairs(specialValues<T>());
  std::vector<T> low, high, none, all;
  for (size_t i = 0; i < x.size(); ++i) {
    T size = std::isnan(bound[i]) ? T(2) : std::fabs(bound[i]);
    low.push_back(-size), high.push_back(size);
    none.push_back(T(numberMinimum(numberMaximum(x[i], -size), size)));
    all.push_back(T(minimum(maximum(x[i], -size), size)));
  }
  auto of = [&](size_t i) { return "clampf " + show(x[i]) + " to " + show(high[i]); };
  for (bool propagate : {false, true})
    expectSame(mapOnDevice<T>({type, type, type, type},
                              "  %r = tt.clampf %a, %b, %c, propagateNan = " + std::string(propagate ? "all" : "none") +
                                  " : @" + type,
                              x, low, high),
               propagate ? all : none, of);
}

TYPED_TEST(Float, exact_functions) {
  using T = TypeParam;
  std::string type = nameOf<T>();
  std::vector<T> x = randomValues<T>(40000, 5, specialValues<T>());
  RandomBits random(6);
  for (size_t i = 10000; i < x.size(); ++i)
    x[i] = T(int32_t(random.next())) / T(1 << 24);
  std::map<std::string, std::function<T(T)>> functions{
      {"tt.precise_sqrt", [](T v) { return std::sqrt(v); }}, {"math.sqrt", [](T v) { return std::sqrt(v); }},
      {"math.floor", [](T v) { return std::floor(v); }},     {"math.ceil", [](T v) { return std::ceil(v); }},
      {"math.absf", [](T v) { return std::fabs(v); }},       {"arith.negf", [](T v) { return -v; }}};
  for (auto &[name, plain] : functions) {
    std::vector<T> expected;
    for (T value : x)
      expected.push_back(plain(value));
    double ulps = name == "math.sqrt" && sizeof(T) == 4 ? boundsOfDevice().squareRoot : 0;
    expectWithin(mapOnDevice<T>({type, type}, "  %r = " + name + " %a : @" + type, x), expected, ulps,
                 [&](size_t i) { return name + " " + show(x[i]); });
  }
}

TYPED_TEST(Float, comparisons) {
  using T = TypeParam;
  std::string type = nameOf<T>();
  auto [x, y] = allPairs(specialValues<T>());
  auto unordered = [](T a, T b) { return std::isnan(a) || std::isnan(b); };
  std::map<std::string, std::function<bool(T, T)>> predicates{
      {"oeq", [](T a, T b) { return a == b; }},
      {"one", [=](T a, T b) { return !unordered(a, b) && a != b; }},
      {"olt", [](T a, T b) { return a < b; }},
      {"oge", [](T a, T b) { return a >= b; }},
      {"ueq", [=](T a, T b) { return unordered(a, b) || a == b; }},
      {"une", [](T a, T b) { return a != b; }},
      {"ult", [=](T a, T b) { return unordered(a, b) || a < b; }},
      {"uge", [=](T a, T b) { return unordered(a, b) || a >= b; }},
      {"ord", [=](T a, T b) { return !unordered(a, b); }},
      {"uno", unordered}};
  for (auto &[name, plain] : predicates) {
    std::vector<int8_t> expected;
    for (size_t i = 0; i < x.size(); ++i)
      expected.push_back(plain(x[i], y[i]));
    expectSame(mapOnDevice<int8_t>(
                   {type, type, "i8"},
                   "  %t = arith.cmpf " + name + ", %a, %b : @" + type + "\n  %r = arith.extui %t : @i1 to @i8", x, y),
               expected, [&](size_t i) { return name + " " + show(x[i]) + ", " + show(y[i]); });
  }
}

//===-- 16-bit formats: every bit pattern with random partners ---------------------------------------------------===//

class Narrow : public testing::TestWithParam<PlainFormat> {
protected:
  void SetUp() override {
    RandomBits random(7);
    for (uint32_t code = 0; code < 65536; ++code)
      for (int i = 0; i < 3; ++i) {
        x.push_back(uint16_t(code));
        // Any partner, one of like size, and a special one.
        uint16_t any = uint16_t(random.next()), near = uint16_t(code ^ (any & 0x83ff)),
                 special[] = {0, 0x8000, 1, 0x8001, 0x7c00, 0xfc00, 0x7f80, 0x3c00};
        y.push_back(i == 0 ? any : i == 1 ? near : special[any % 8]);
      }
  }

  /// `plain` gives a double from which one rounding leads to the result.
  /// `neighbours`: an error in f32 may round it to the next value.
  void expect(const std::string &operation, const std::function<double(double, double)> &plain,
              bool neighbours = false) {
    const PlainFormat &format = GetParam();
    std::string text =
        operation.find('@') == std::string::npos ? "  %r = " + operation + " %a, %b : @" + format.name : operation;
    auto actual = mapOnDevice<uint16_t>({format.name, format.name, format.name}, text, x, y);
    size_t wrong = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      double a = format.valueOf(x[i]), b = format.valueOf(y[i]);
      uint32_t expected = format.nearest(plain(a, b), false);
      if (neighbours && !format.isNan(expected) && std::abs(int(actual[i]) - int(expected)) <= 1)
        continue;
      if (actual[i] != expected && !(format.isNan(actual[i]) && format.isNan(expected)) && wrong++ == 0)
        ADD_FAILURE() << operation << " of " << show(a) << ", " << show(b) << " gives "
                      << show(format.valueOf(actual[i])) << ", expected " << show(format.valueOf(expected));
    }
    EXPECT_EQ(wrong, 0u) << operation << ", of " << x.size();
  }

  std::vector<uint16_t> x, y;
};
INSTANTIATE_TEST_SUITE_P(Formats, Narrow, testing::Values(plainF16, plainBF16),
                         [](const auto &info) { return info.param.name; });

// Sums and products of doubles with 11 bits are exact or far beyond any rounding; quotients and roots have 53 bits,
// more than twice as many as the result, which makes the second rounding harmless.
TEST_P(Narrow, arithmetic) {
  expect("arith.addf", [](double a, double b) {
    double sum = a + b, back = sum - a, lost = (a - (sum - back)) + (b - back);
    if (std::isfinite(sum) && lost != 0 && std::bit_cast<uint64_t>(sum) % 2 == 0) // as if rounded to odd
      sum = std::nextafter(sum, lost > 0 ? INFINITY : -INFINITY);
    return sum;
  });
  expect("arith.subf", [](double a, double b) {
    double sum = a - b, back = sum - a, lost = (a - (sum - back)) + (-b - back);
    if (std::isfinite(sum) && lost != 0 && std::bit_cast<uint64_t>(sum) % 2 == 0)
      sum = std::nextafter(sum, lost > 0 ? INFINITY : -INFINITY);
    return sum;
  });
  expect("arith.mulf", [](double a, double b) { return a * b; });
  Bounds bounds = boundsOfDevice();
  expect("arith.divf", [](double a, double b) { return a / b; }, bounds.divide > 0);
  expect(
      "  %r = math.sqrt %a : @" + GetParam().name, [](double a, double) { return std::sqrt(a); },
      bounds.squareRoot > 0);
  expect("  %r = arith.negf %a : @" + GetParam().name, [](double a, double) { return -a; });
}

TEST_P(Narrow, extremes) {
  expect("arith.maxnumf", numberMaximum);
  expect("arith.minnumf", numberMinimum);
  expect("arith.maximumf", maximum);
  expect("arith.minimumf", minimum);
}

// The product of f32 may be fused with nothing: -0 would become +0.
TEST_P(Narrow, a_product_of_f32_is_rounded_with_its_sign) {
  std::string type = GetParam().name;
  expect("  %x = arith.extf %a : @" + type + " to @f32\n  %y = arith.extf %b : @" + type +
             " to @f32\n  %p = arith.mulf %x, %y : @f32\n  %r = arith.truncf %p : @f32 to @" + type,
         [](double a, double b) { return double(float(a) * float(b)); });
}

TEST_P(Narrow, remainder_is_fmod) {
  expect("arith.remf", [](double a, double b) { return std::fmod(a, b); });
}

// a * b + c where c is far below the last bit of a product that lies in the middle of two results.
TEST_P(Narrow, fused_multiply_add_sees_a_tiny_addend) {
  const PlainFormat &format = GetParam();
  std::vector<uint16_t> a, b, c;
  std::vector<uint32_t> expected;
  uint16_t tiny[] = {1, uint16_t(format.signBit() | 1)};
  RandomBits random(8);
  for (int i = 0; i < 40000; ++i) {
    a.push_back(uint16_t(random.next() % (format.largestCode() + 1)));
    b.push_back(uint16_t(format.nearest(1 + double(random.next() % 64) / 64, false)));
    c.push_back(tiny[i % 2]);
    double product = format.valueOf(a.back()) * format.valueOf(b.back()), addend = format.valueOf(c.back());
    double sum = product + addend, back = sum - product, lost = (product - (sum - back)) + (addend - back);
    if (std::isfinite(sum) && lost != 0 && std::bit_cast<uint64_t>(sum) % 2 == 0)
      sum = std::nextafter(sum, lost > 0 ? INFINITY : -INFINITY);
    expected.push_back(format.nearest(sum, false));
  }
  auto actual = mapOnDevice<uint16_t>({format.name, format.name, format.name, format.name},
                                      "  %r = math.fma %a, %b, %c : @" + format.name, a, b, c);
  size_t wrong = 0;
  for (size_t i = 0; i < a.size(); ++i)
    if (actual[i] != expected[i] && wrong++ == 0)
      ADD_FAILURE() << format.name << " fma of " << show(format.valueOf(a[i])) << ", " << show(format.valueOf(b[i]))
                    << ", " << show(format.valueOf(c[i])) << " gives " << show(format.valueOf(actual[i]))
                    << ", expected " << show(format.valueOf(expected[i]));
  EXPECT_EQ(wrong, 0u) << "of " << a.size();
}

TEST_P(Narrow, fused_multiply_add_rounds_once) {
  expect("  %r = math.fma %a, %b, %b : @" + GetParam().name, [](double a, double b) {
    double product = a * b, sum = product + b, back = sum - product, lost = (product - (sum - back)) + (b - back);
    if (std::isfinite(sum) && lost != 0 && std::bit_cast<uint64_t>(sum) % 2 == 0)
      sum = std::nextafter(sum, lost > 0 ? INFINITY : -INFINITY);
    return sum;
  });
}
