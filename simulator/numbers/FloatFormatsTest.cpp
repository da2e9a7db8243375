// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every code of every narrow format, and rounding against a search for the nearest code.
#include "simulator/numbers/FloatFormats.h"
#include "simulator/numbers/Conversions.h"
#include "support/ElementType.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace heddle::simulator {
namespace {

using enum ElementType;

struct NamedFormat {
  const char *name;
  FloatFormat format;
  double largest;
};
const NamedFormat formats[] = {
    {"f16", f16, 65504},       {"bf16", bf16, 0x1.FEp127}, {"fp8Ocp", fp8Ocp, 448},
    {"bf8Ocp", bf8Ocp, 57344}, {"fp8Fnuz", fp8Fnuz, 240},  {"bf8Fnuz", bf8Fnuz, 57344},
    {"fp6", fp6, 7.5},         {"bf6", bf6, 28},           {"fp4", fp4, 6},
};

/// The codes of zero and all positive finite numbers; they order as their values do.
std::vector<double> positives(const FloatFormat &format) {
  std::vector<double> values;
  for (uint32_t code = 0; code <= format.largestFinite(); ++code)
    values.push_back(decodeFloat(format, code));
  return values;
}

TEST(FloatFormats, EachCodeRoundsToItself) {
  for (const auto &[name, format, largest] : formats) {
    EXPECT_EQ(decodeFloat(format, format.largestFinite()), largest) << name;
    for (uint32_t code = 0; code < 2 * format.signBit(); ++code) {
      double value = decodeFloat(format, code);
      if (std::isnan(value))
        EXPECT_TRUE(std::isnan(decodeFloat(format, encodeFloat(format, value)))) << name << " " << code;
      else
        EXPECT_EQ(encodeFloat(format, value), code) << name;
    }
  }
}

TEST(FloatFormats, EightBitsAgreeWithElementTypes) {
  const std::pair<FloatFormat, ElementType> pairs[] = {{f16, F16},       {bf16, BF16},          {fp8Ocp, F8E4M3FN},
                                                       {bf8Ocp, F8E5M2}, {fp8Fnuz, F8E4M3FNUZ}, {bf8Fnuz, F8E5M2FNUZ}};
  for (const auto &[format, type] : pairs)
    for (uint32_t code = 0; code < 2 * format.signBit(); ++code) {
      double ours = decodeFloat(format, code), theirs = loadDouble(type, &code);
      EXPECT_TRUE(ours == theirs || (std::isnan(ours) && std::isnan(theirs))) << elementTypeName(type) << " " << code;
    }
}

TEST(FloatFormats, TheSmallOnesByHand) {
  const double fp4Values[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (uint32_t code = 0; code < 8; ++code) {
    EXPECT_EQ(decodeFloat(fp4, code), fp4Values[code]);
    EXPECT_EQ(decodeFloat(fp4, code | 8), -fp4Values[code]);
  }
  EXPECT_EQ(decodeFloat(fp6, 1), 0.125);
  EXPECT_EQ(decodeFloat(bf6, 1), 0.0625);
  EXPECT_EQ(decodeFloat(bf6, 0x3F), -28);
}

/// What rounding `value`, at least 0, must give: the index of the code among `values`.
size_t nearestCode(const std::vector<double> &values, double value, Rounding rounding) {
  size_t above = size_t(std::upper_bound(values.begin(), values.end(), value) - values.begin()), below = above - 1;
  if (values[below] == value || above == values.size())
    return below;
  if (rounding == Rounding::Up)
    return above;
  if (rounding != Rounding::NearestEven)
    return below;
  double toBelow = value - values[below], toAbove = values[above] - value;
  return toBelow < toAbove || (toBelow == toAbove && below % 2 == 0) ? below : above;
}

TEST(FloatFormats, RoundingGivesTheNearestCode) {
  for (const auto &[name, format, largest] : formats) {
    std::vector<double> values = positives(format), inputs;
    size_t stride = values.size() > 1000 ? 7 : 1;
    for (size_t code = 0; code + 1 < values.size(); code += stride) {
      double middle = (values[code] + values[code + 1]) / 2;
      for (double input : {middle, std::nextafter(middle, 0), std::nextafter(middle, 1e300), values[code + 1] * 1.0001})
        if (input < largest)
          inputs.push_back(input);
    }
    for (double input : inputs)
      for (Rounding rounding : {Rounding::NearestEven, Rounding::Up, Rounding::Down, Rounding::TowardZero}) {
        size_t expected = nearestCode(values, input, rounding);
        ASSERT_EQ(encodeFloat(format, input, Overflow::Special, rounding), expected) << name << " " << input;
        Rounding mirrored = rounding == Rounding::Up     ? Rounding::Down
                            : rounding == Rounding::Down ? Rounding::Up
                                                         : rounding;
        double back = decodeFloat(format, encodeFloat(format, -input, Overflow::Special, mirrored));
        ASSERT_EQ(back, -values[expected]) << name << " " << -input;
      }
  }
}

TEST(FloatFormats, BeyondTheLargest) {
  EXPECT_EQ(encodeFloat(fp8Ocp, 464), 0x7Eu); // half-way to what would be 480: to even
  EXPECT_EQ(encodeFloat(fp8Ocp, 465), 0x7Fu);
  EXPECT_EQ(encodeFloat(fp8Ocp, -465, Overflow::Saturate), 0xFEu);
  EXPECT_EQ(encodeFloat(fp8Fnuz, 1e30), 0x80u);
  EXPECT_EQ(encodeFloat(fp8Fnuz, -1e30, Overflow::Saturate), 0xFFu);
  EXPECT_EQ(encodeFloat(bf8Ocp, HUGE_VAL), 0x7Cu);
  EXPECT_EQ(encodeFloat(bf8Ocp, HUGE_VAL, Overflow::Saturate), 0x7Bu);
  EXPECT_EQ(encodeFloat(bf8Ocp, 1e30, Overflow::Special, Rounding::TowardZero), 0x7Bu);
  EXPECT_EQ(encodeFloat(fp4, 1e300), 7u);
  EXPECT_EQ(encodeFloat(fp6, -HUGE_VAL), 0x3Fu);
  EXPECT_EQ(encodeFloat(f16, 65520), 0x7C00u);
  EXPECT_EQ(encodeFloat(fp8Fnuz, -1e-30), 0u); // no negative zero
  EXPECT_EQ(encodeFloat(fp8Ocp, -1e-30), 0x80u);
}

TEST(FloatFormats, StochasticRoundingCutsAndAverages) {
  EXPECT_EQ(encodeFloatStochastic(fp4, 1.49, 0), 2u);
  EXPECT_EQ(encodeFloatStochastic(fp4, 1.01, ~0u), 3u);
  EXPECT_EQ(encodeFloatStochastic(fp4, 1.5, ~0u), 3u);
  std::mt19937 random(1);
  double sum = 0;
  for (int count = 0; count < 10000; ++count)
    sum += decodeFloat(fp8Ocp, encodeFloatStochastic(fp8Ocp, 1.03, random()));
  EXPECT_NEAR(sum / 10000, 1.03, 0.003);
}

TEST(FloatFormats, HalfFromDoubleRoundsOnce) {
  std::mt19937_64 random(2);
  for (uint32_t code = 0; code < 0x7BFF; ++code) {
    double low = decodeFloat(f16, code), high = decodeFloat(f16, code + 1), middle = (low + high) / 2;
    for (double value : {low, middle, std::nextafter(middle, 0), std::nextafter(middle, 1e9)})
      for (double input : {value, -value})
        ASSERT_EQ(bitsOf(halfFromDouble(input)), encodeFloat(f16, input)) << input;
  }
  EXPECT_EQ(bitsOf(halfFromDouble(1e300)), 0x7C00);
  EXPECT_EQ(bitsOf(halfFromDouble(-65519.99)), 0xFBFF);
  EXPECT_TRUE(isNan(halfFromDouble(std::nan(""))));
}

TEST(FloatFormats, TheShortWayFindsTheSameCodes) {
  std::mt19937 random(4);
  for (const auto &[name, format, largest] : formats) {
    if (format.bits > 8)
      continue;
    auto compare = [&](float value) {
      for (Overflow overflow : {Overflow::Special, Overflow::Saturate})
        for (float each : {value, -value})
          ASSERT_EQ(encodeNearest(format, each, overflow), encodeFloat(format, each, overflow)) << name << " " << each;
    };
    std::vector<double> values = positives(format);
    for (size_t code = 0; code + 1 < values.size(); ++code) {
      auto middle = float((values[code] + values[code + 1]) / 2);
      for (float value : {float(values[code]), std::nextafterf(middle, 0), middle, std::nextafterf(middle, 1e9f)})
        compare(value);
    }
    for (float value : {float(largest), std::nextafterf(float(largest), 1e9f), 1e30f, 1e-40f, INFINITY, NAN})
      compare(value);
    for (int count = 0; count < 20000; ++count)
      compare(std::bit_cast<float>(uint32_t(random())));
  }
}

TEST(FloatFormats, BrainFloatsRoundToEven) {
  std::mt19937 random(3);
  for (int count = 0; count < 100000; ++count) {
    auto value = std::bit_cast<float>(uint32_t(random()));
    uint16_t expected = uint16_t(encodeFloat(bf16, value));
    ASSERT_TRUE(toBf16(value) == expected || std::isnan(value)) << value;
  }
}

} // namespace
} // namespace heddle::simulator
