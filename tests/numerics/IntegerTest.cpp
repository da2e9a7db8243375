// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integer arithmetic of every width, at the values where hardware, C++ and the language differ.
#include "tests/numerics/Support.h"

using namespace heddle::numerics;

namespace {

template <typename T>
struct TypeName;
template <>
struct TypeName<int8_t> {
  static constexpr const char *text = "i8";
};
template <>
struct TypeName<int16_t> {
  static constexpr const char *text = "i16";
};
template <>
struct TypeName<int32_t> {
  static constexpr const char *text = "i32";
};
template <>
struct TypeName<int64_t> {
  static constexpr const char *text = "i64";
};

template <typename T>
class Integer : public testing::Test {
protected:
  using U = std::make_unsigned_t<T>;
  using Wide = __int128;
  static constexpr int bits = sizeof(T) * 8;

  void SetUp() override {
    std::vector<T> edges{0, 1, -1, 2, -2, 3, 7, 10, -10, 100, T(bits), T(bits - 1), T(bits + 1)};
    edges.insert(edges.end(), {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(),
                               T(std::numeric_limits<T>::min() + 1), T(std::numeric_limits<T>::max() - 1)});
    std::tie(x, y) = allPairs(edges);
    x = randomValues<T>(20000, 1, x), y = randomValues<T>(20000, 2, y);
    for (size_t i = 10000; i < y.size(); ++i) // quotients of all sizes, and equal operands
      y[i] = i % 8 == 0 ? x[i] : T(y[i] >> (i % bits));
  }

  void expect(const std::string &operation, const std::function<T(T, T)> &plain) {
    std::string type = TypeName<T>::text;
    std::vector<T> expected;
    for (size_t i = 0; i < x.size(); ++i)
      expected.push_back(plain(x[i], y[i]));
    expectSame(
        mapOnDevice<T>({type, type, type}, "  %r = " + operation + " %a, %b : @" + type, x, y), expected,
        [&](size_t i) { return operation + " " + type + " " + std::to_string(x[i]) + ", " + std::to_string(y[i]); });
  }

  std::vector<T> x, y;
};
using Widths = testing::Types<int8_t, int16_t, int32_t, int64_t>;
TYPED_TEST_SUITE(Integer, Widths);

} // namespace

TYPED_TEST(Integer, sums_and_products_wrap) {
  using T = TypeParam;
  this->expect("arith.addi", [](T x, T y) { return T(uint64_t(x) + uint64_t(y)); });
  this->expect("arith.subi", [](T x, T y) { return T(uint64_t(x) - uint64_t(y)); });
  this->expect("arith.muli", [](T x, T y) { return T(uint64_t(x) * uint64_t(y)); });
}

TYPED_TEST(Integer, quotients_by_zero_are_ones_and_the_smallest_by_minus_one_wraps) {
  using T = TypeParam;
  using U = std::make_unsigned_t<T>;
  this->expect("arith.divsi", [](T x, T y) { return y == 0 ? T(-1) : T(__int128(x) / y); });
  this->expect("arith.divui", [](T x, T y) { return y == 0 ? T(-1) : T(U(x) / U(y)); });
}

TYPED_TEST(Integer, remainders_by_zero_are_the_dividend) {
  using T = TypeParam;
  using U = std::make_unsigned_t<T>;
  this->expect("arith.remsi", [](T x, T y) { return y == 0 ? x : T(__int128(x) % y); });
  this->expect("arith.remui", [](T x, T y) { return y == 0 ? x : T(U(x) % U(y)); });
}

TYPED_TEST(Integer, wide_shifts_give_zero_or_the_sign) {
  using T = TypeParam;
  using U = std::make_unsigned_t<T>;
  constexpr U bits = sizeof(T) * 8;
  this->expect("arith.shli", [](T x, T y) { return U(y) >= bits ? T(0) : T(uint64_t(x) << U(y)); });
  this->expect("arith.shrui", [](T x, T y) { return U(y) >= bits ? T(0) : T(U(x) >> U(y)); });
  this->expect("arith.shrsi", [](T x, T y) { return T(x >> std::min<U>(U(y), bits - 1)); });
}

TYPED_TEST(Integer, extremes_and_bits) {
  using T = TypeParam;
  using U = std::make_unsigned_t<T>;
  this->expect("arith.maxsi", [](T x, T y) { return std::max(x, y); });
  this->expect("arith.minsi", [](T x, T y) { return std::min(x, y); });
  this->expect("arith.maxui", [](T x, T y) { return T(std::max(U(x), U(y))); });
  this->expect("arith.minui", [](T x, T y) { return T(std::min(U(x), U(y))); });
  this->expect("arith.andi", [](T x, T y) { return T(x & y); });
  this->expect("arith.ori", [](T x, T y) { return T(x | y); });
  this->expect("arith.xori", [](T x, T y) { return T(x ^ y); });
}

TYPED_TEST(Integer, high_half_of_a_product) {
  using T = TypeParam;
  using U = std::make_unsigned_t<T>;
  this->expect("tt.mulhiui",
               [](T x, T y) { return T((static_cast<unsigned __int128>(U(x)) * U(y)) >> (sizeof(T) * 8)); });
}

TYPED_TEST(Integer, comparisons) {
  using T = TypeParam;
  using U = std::make_unsigned_t<T>;
  std::string type = TypeName<T>::text;
  std::map<std::string, std::function<bool(T, T)>> predicates{
      {"eq", [](T x, T y) { return x == y; }},        {"ne", [](T x, T y) { return x != y; }},
      {"slt", [](T x, T y) { return x < y; }},        {"sge", [](T x, T y) { return x >= y; }},
      {"ult", [](T x, T y) { return U(x) < U(y); }},  {"ugt", [](T x, T y) { return U(x) > U(y); }},
      {"ule", [](T x, T y) { return U(x) <= U(y); }}, {"sgt", [](T x, T y) { return x > y; }}};
  for (auto &[name, plain] : predicates) {
    std::vector<int8_t> expected;
    for (size_t i = 0; i < this->x.size(); ++i)
      expected.push_back(plain(this->x[i], this->y[i]));
    expectSame(mapOnDevice<int8_t>({type, type, "i8"},
                                   "  %t = arith.cmpi " + name + ", %a, %b : @" + type +
                                       "\n  %r = arith.extui %t : @i1 to @i8",
                                   this->x, this->y),
               expected,
               [&](size_t i) { return name + " " + std::to_string(this->x[i]) + ", " + std::to_string(this->y[i]); });
  }
}

TEST(IntegerScalar, division_and_shifts_of_scalars) {
  // The same rules where no vector is involved.
  auto result = runOnDevice(
      "%x: i32, %y: i32, %p: !tt.ptr<i32>", R"(
  %c1 = arith.constant 1 : i32
  %q = arith.divsi %x, %y : i32
  %m = arith.remsi %x, %y : i32
  %s = arith.shli %x, %x : i32
  %p1 = tt.addptr %p, %c1 : !tt.ptr<i32>, i32
  %p2 = tt.addptr %p1, %c1 : !tt.ptr<i32>, i32
  tt.store %p, %q : !tt.ptr<i32>
  tt.store %p1, %m : !tt.ptr<i32>
  tt.store %p2, %s : !tt.ptr<i32>)",
      {heddle::reference::scalarI32(77), heddle::reference::scalarI32(0), heddle::reference::zeros<int32_t>(3)});
  EXPECT_EQ(heddle::reference::valuesOf<int32_t>(result[2]), (std::vector<int32_t>{-1, 77, 0}));
}
