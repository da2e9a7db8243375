// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The software formats against the compiler's own types and against values worked out by hand.
#include "tests/reference/TestSupport.h"
#include <cmath>
#include <random>

using namespace heddle::reference;

static const double infinity = std::numeric_limits<double>::infinity();

TEST(SoftFloat, f16_decode_agrees_with_the_compiler) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    double expected = double(std::bit_cast<_Float16>(uint16_t(bits)));
    double actual = decode(formatF16, bits);
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(actual)) << bits;
    else
      EXPECT_EQ(std::bit_cast<uint64_t>(actual), std::bit_cast<uint64_t>(expected)) << bits;
  }
}

TEST(SoftFloat, every_code_survives_a_round_trip) {
  for (const FloatFormat &format : {formatF16, formatBF16, formatE4M3FN, formatE5M2, formatE4M3FNUZ, formatE5M2FNUZ})
    for (uint64_t bits = 0; bits < uint64_t(1) << format.width(); ++bits) {
      uint64_t expected = isNan(format, bits) ? format.quietNan() : bits;
      ASSERT_EQ(encode(format, decode(format, bits)), expected) << bits << " of width " << format.width();
    }
}

TEST(SoftFloat, f32_and_f16_rounding_agree_with_the_compiler) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) {
    uint64_t bits = random();
    int exponent = int(random() % 400) - 200; // around and beyond the range of f32, where rounding is interesting
    double value = std::ldexp(double(bits >> 11), exponent - 53);
    value = bits & 1 ? -value : value;
    ASSERT_EQ(encode(formatF32, value), std::bit_cast<uint32_t>(float(value))) << value;
    double near = std::ldexp(double(bits >> 40), int(random() % 50) - 30 - 24);
    ASSERT_EQ(encode(formatF16, near), std::bit_cast<uint16_t>(_Float16(near))) << near;
  }
}

TEST(SoftFloat, f32_arithmetic_through_double_is_exact) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 200000; ++i) {
    float a = std::bit_cast<float>(uint32_t(random())), b = std::bit_cast<float>(uint32_t(random()));
    float c = std::bit_cast<float>(uint32_t(random()));
    if (std::isnan(a) || std::isnan(b) || std::isnan(c))
      continue;
    auto same = [](uint64_t actual, float expected) {
      return std::isnan(expected) ? actual == formatF32.quietNan() : actual == std::bit_cast<uint32_t>(expected);
    };
    ASSERT_TRUE(same(encode(formatF32, double(a) + double(b)), a + b)) << a << " " << b;
    ASSERT_TRUE(same(encode(formatF32, double(a) * double(b)), a * b)) << a << " " << b;
    ASSERT_TRUE(same(encode(formatF32, double(a) / double(b)), a / b)) << a << " " << b;
    ASSERT_TRUE(same(encode(formatF32, std::sqrt(double(a))), std::sqrt(a))) << a;
    ASSERT_TRUE(same(encodeFma(formatF32, a, b, c), std::fma(a, b, c))) << a << " " << b << " " << c;
    float d = std::ldexp(a, -60); // subnormal quotients and products
    ASSERT_TRUE(same(encode(formatF32, double(d) / double(b)), d / b)) << d << " " << b;
  }
}

TEST(SoftFloat, fma_is_rounded_once) {
  // (1 + 2^-8)^2 needs 17 bits and its tail decides a bf16 tie that a tiny addend breaks.
  double tie = 1 + std::ldexp(1.0, -8); // halfway between the bf16 values 1 and 1 + 2^-7
  double tiny = std::ldexp(1.0, -100);
  EXPECT_EQ(encode(formatBF16, tie), 0x3f80u);
  EXPECT_EQ(encodeFma(formatBF16, tie, 1.0, tiny), 0x3f81u); // just above the tie
  EXPECT_EQ(encodeFma(formatBF16, tie, 1.0, -tiny), 0x3f80u);
}

TEST(SoftFloat, fp8_known_codes) {
  EXPECT_EQ(decode(formatE4M3FN, 0x7e), 448);
  EXPECT_EQ(decode(formatE4M3FN, 0x01), std::ldexp(1.0, -9));
  EXPECT_TRUE(std::isnan(decode(formatE4M3FN, 0x7f)));
  EXPECT_EQ(decode(formatE5M2, 0x7b), 57344);
  EXPECT_EQ(decode(formatE5M2, 0x7c), infinity);
  EXPECT_EQ(decode(formatE4M3FNUZ, 0x7f), 240);
  EXPECT_EQ(decode(formatE4M3FNUZ, 0x01), std::ldexp(1.0, -10));
  EXPECT_TRUE(std::isnan(decode(formatE4M3FNUZ, 0x80)));
  EXPECT_EQ(decode(formatE5M2FNUZ, 0x7f), 57344);
  EXPECT_EQ(encode(formatE4M3FN, 1.0), 0x38u);
  EXPECT_EQ(encode(formatE4M3FNUZ, 1.0), 0x40u);
  EXPECT_EQ(encode(formatE5M2, 1.0), 0x3cu);
  EXPECT_EQ(encode(formatE5M2FNUZ, 1.0), 0x40u);
}

TEST(SoftFloat, fp8_saturation_and_ties) {
  auto saturate = [](const FloatFormat &format, double value) {
    return encode(format, value, Rounding::NearestEven, Overflow::Saturate);
  };
  EXPECT_EQ(saturate(formatE4M3FN, 464), 0x7eu); // a tie beyond the last code
  EXPECT_EQ(saturate(formatE4M3FN, -1e9), 0xfeu);
  EXPECT_EQ(saturate(formatE4M3FN, infinity), 0x7eu);
  EXPECT_EQ(saturate(formatE5M2, infinity), 0x7bu);
  EXPECT_EQ(saturate(formatE5M2, 1e6), 0x7bu);
  EXPECT_EQ(saturate(formatE4M3FNUZ, -infinity), 0xffu);
  EXPECT_EQ(encode(formatE4M3FN, 1e9), 0x7fu); // without saturation: NaN, for want of an infinity
  EXPECT_EQ(encode(formatE5M2, 1e9), 0x7cu);
  EXPECT_EQ(encode(formatE4M3FN, 1.0625), 0x38u);               // tie between 1 and 1.125: even
  EXPECT_EQ(encode(formatE4M3FN, 1.1875), 0x3au);               // tie between 1.125 and 1.25: even
  EXPECT_EQ(encode(formatE4M3FN, std::ldexp(1.0, -10)), 0x00u); // tie between 0 and the smallest
  EXPECT_EQ(encode(formatE4M3FN, -std::ldexp(1.0, -12)), 0x80u);
  EXPECT_EQ(encode(formatE4M3FNUZ, -std::ldexp(1.0, -13)), 0x00u); // no -0
  EXPECT_EQ(encode(formatE5M2, 1.99, Rounding::TowardZero), 0x3fu);
}
