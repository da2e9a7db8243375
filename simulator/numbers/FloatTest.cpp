// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The operations of Float.h, Division.h and Transcendentals.h at their edges, and against the C++ library.
#include "simulator/numbers/Division.h"
#include "simulator/numbers/Transcendentals.h"
#include "simulator/numbers/TrigonometricTable.h"
#include <cfenv>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace heddle::simulator {
namespace {

template <typename T>
std::vector<T> edges() {
  using F = Fields<T>;
  std::vector<T> values;
  for (uint64_t bits : {uint64_t(0), uint64_t(1), uint64_t(F::infinity), uint64_t(F::infinity) - 1,
                        uint64_t(F::infinity) + 1, uint64_t(F::nan), uint64_t(1) << F::mantissaBits,
                        (uint64_t(1) << F::mantissaBits) - 1, uint64_t(bitsOf(T(1))), uint64_t(bitsOf(T(3)))})
    for (uint64_t sign : {uint64_t(0), uint64_t(F::sign)})
      values.push_back(fromBits<T>(bits | sign));
  return values;
}

template <typename T>
T randomBits(std::mt19937_64 &random) {
  return fromBits<T>(random() & ((uint64_t(1) << (sizeof(T) * 8 - 1)) * 2 - 1));
}

template <typename T>
void checkExtremes() {
  for (T a : edges<T>())
    for (T b : edges<T>()) {
      T least = minimumNumber(a, b), greatest = maximumNumber(a, b);
      if (isSignallingNan(a) || isSignallingNan(b) || (isNan(a) && isNan(b))) {
        EXPECT_TRUE(isNan(least) && !isSignallingNan(least) && isNan(greatest));
      } else if (isNan(a) || isNan(b)) {
        EXPECT_EQ(bitsOf(least), bitsOf(isNan(a) ? b : a));
      } else if (isZero(a) && isZero(b)) {
        EXPECT_EQ(isNegative(least), isNegative(a) || isNegative(b));
        EXPECT_EQ(isNegative(greatest), isNegative(a) && isNegative(b));
      } else {
        EXPECT_EQ(bitsOf(least), bitsOf(a < b ? a : b));
        EXPECT_EQ(bitsOf(greatest), bitsOf(a > b ? a : b));
      }
      EXPECT_EQ(isNan(extreme<T, false>(a, b)), isNan(a) || isNan(b));
    }
}

TEST(Float, ExtremesOrderZerosAndPreferNumbers) {
  checkExtremes<_Float16>();
  checkExtremes<float>();
  checkExtremes<double>();
}

TEST(Float, ClassesByBits) {
  const float values[] = {fromBits<float>(0x7F800001), NAN, -INFINITY, -1, fromBits<float>(0x80000001), -0.0f, 0.0f,
                          fromBits<float>(1),          1,   INFINITY};
  for (uint32_t expected = 0; expected < 10; ++expected)
    EXPECT_EQ(classOf(values[expected]), expected);
}

TEST(Float, PartsOfHalves) { // all of f16, against double
  for (uint32_t code = 0; code < 0x10000; ++code) {
    auto value = fromBits<_Float16>(code);
    if (isNan(value) || isInfinite(value))
      continue;
    double exact = toDouble(value);
    EXPECT_EQ(toDouble(nearestEven(value)), std::nearbyint(exact));
    EXPECT_EQ(toDouble(floorOf(value)), std::floor(exact));
    EXPECT_EQ(toDouble(ceilingOf(value)), std::ceil(exact));
    EXPECT_EQ(toDouble(truncated(value)), std::trunc(exact));
    EXPECT_LT(fraction(value), _Float16(1));
    EXPECT_EQ(toDouble(fractionMantissa(value)) * std::exp2(fractionExponent(value)), exact);
    for (int exponent : {-30, -3, 0, 5, 40})
      EXPECT_EQ(bitsOf(scaleByPower(value, exponent)), bitsOf(halfFromDouble(std::ldexp(exact, exponent))));
  }
}

TEST(Float, FusedHalvesRoundOnce) {
  std::mt19937_64 random(5);
  for (int count = 0; count < 200000; ++count) {
    auto a = randomBits<_Float16>(random), b = randomBits<_Float16>(random), c = randomBits<_Float16>(random);
    __float128 exact = __float128(toDouble(a)) * toDouble(b) + toDouble(c);
    auto wide = double(exact); // to odd, so that the second rounding is right
    if (__float128(wide) != exact && wide == wide && !(bitsOf(wide) & 1))
      wide = fromBits<double>(bitsOf(wide) + ((exact > wide) == (wide > 0) ? 1 : -1));
    _Float16 expected = halfFromDouble(wide), found = fusedMultiplyAdd(a, b, c);
    ASSERT_TRUE(bitsOf(found) == bitsOf(expected) || (isNan(found) && isNan(expected)));
  }
}

TEST(Float, ToIntegersSaturates) {
  EXPECT_EQ(toInteger<uint32_t>(4294967040.0f), 4294967040u);
  EXPECT_EQ(toInteger<uint32_t>(0.75), 0u);
  EXPECT_EQ(toInteger<uint32_t>(1.75f), 1u);
  EXPECT_EQ(toInteger<uint32_t>(-5.0), 0u);
  EXPECT_EQ(toInteger<uint32_t>(1e20f), ~0u);
  EXPECT_EQ(toInteger<uint32_t>(NAN), 0u);
  EXPECT_EQ(toInteger<int32_t>(-2.9f), -2);
  EXPECT_EQ(toInteger<int32_t>(-1e20), INT32_MIN);
  EXPECT_EQ(toInteger<int16_t>(_Float16(40000)), INT16_MAX);
}

/// LLVM's sequence for a / b.
template <typename T>
T divide(T a, T b) {
  Scaled<T> denominator = divisionScale(b, b, a), numerator = divisionScale(a, b, a);
  T inverse = reciprocal(denominator.value);
  for (int turn = 0; turn < (sizeof(T) == 8 ? 2 : 1); ++turn)
    inverse = fusedMultiplyAdd(fusedMultiplyAdd(-denominator.value, inverse, T(1)), inverse, inverse);
  T quotient = numerator.value * inverse;
  if (sizeof(T) == 4)
    quotient = fusedMultiplyAdd(fusedMultiplyAdd(-denominator.value, quotient, numerator.value), inverse, quotient);
  T rest = fusedMultiplyAdd(-denominator.value, quotient, numerator.value);
  return divisionFixup(divisionFusedStep(rest, inverse, quotient, numerator.flag), b, a);
}

template <typename T>
void checkDivision() {
  std::mt19937_64 random(6);
  std::vector<T> values = edges<T>();
  for (int count = 0; count < 400; ++count)
    values.push_back(randomBits<T>(random));
  for (T a : values)
    for (T b : values) {
      T found = divide(a, b), expected = a / b;
      ASSERT_TRUE(bitsOf(found) == bitsOf(expected) || (isNan(found) && isNan(expected)))
          << double(a) << " / " << double(b) << " = " << double(found);
    }
}

TEST(Division, IsExactForAllOperands) {
  checkDivision<float>();
  checkDivision<double>();
}

/// Quotients that are powers of two or next to them, down to the denormals; mantissas of ones, near which
/// reciprocals are near ties, among the denominators.
template <typename T>
void checkQuotientsAround(int exponent) {
  constexpr auto ones = (uint64_t(1) << Fields<T>::mantissaBits) - 1;
  for (int power : {-2, 0, 2, 100, Fields<T>::bias})
    for (uint64_t mantissa : {uint64_t(0), uint64_t(1), uint64_t(2), ones / 3, ones / 2, ones - 1, ones})
      for (int64_t units = -3; units <= 3; ++units)
        for (T sign : {T(1), T(-1)}) {
          T denominator = sign * fromBits<T>((uint64_t(power + Fields<T>::bias) << Fields<T>::mantissaBits) | mantissa);
          T whole = std::ldexp(T(1), exponent), quotient = fromBits<T>(bitsOf(whole) + BitsOf<T>(units));
          for (T numerator : {quotient * denominator, std::ldexp(sign, exponent + power + 1)})
            ASSERT_EQ(bitsOf(divide(numerator, denominator)), bitsOf(T(numerator / denominator)))
                << double(numerator) << " / " << double(denominator);
        }
}

TEST(Division, IsExactAroundTheSmallestNormal) {
  for (int exponent : {-149, -140, -128, -127, -126, -125, -124, -100, -1, 0, 1})
    checkQuotientsAround<float>(exponent);
  for (int exponent : {-1074, -1030, -1024, -1023, -1022, -1021, -1020, -900, -1, 0, 1})
    checkQuotientsAround<double>(exponent);
}

/// Distance from the exact result in units of the last place of T.
template <typename T>
double unitsOff(T found, double exact) {
  T nearest = roundTo<T>(exact);
  double unit = std::fabs(toDouble(fromBits<T>(bitsOf(nearest) + 1)) - toDouble(nearest));
  return std::fabs(toDouble(found) - exact) / unit;
}

TEST(Transcendentals, WithinOneUnit) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<float> wide(-120, 120), positive(1e-30f, 1e30f), turns(-200, 200);
  for (int count = 0; count < 100000; ++count) {
    float x = wide(random), y = positive(random), z = turns(random);
    ASSERT_LE(unitsOff(exponential2(x), std::exp2(double(x))), 0.51) << x;
    ASSERT_LE(unitsOff(logarithm2(y), std::log2(double(y))), 0.51) << y;
    ASSERT_LE(unitsOff(reciprocal(y), 1 / double(y)), 1) << y;
    ASSERT_LE(unitsOff(squareRoot(y), std::sqrt(double(y))), 1) << y;
    ASSERT_LE(unitsOff(reciprocalSquareRoot(y), 1 / std::sqrt(double(y))), 1) << y;
    double rest = double(z) - std::nearbyint(double(z));
    ASSERT_NEAR((waveOfTurns<float, false>(z)), std::sin(2 * M_PI * rest), 6e-8) << z;
    ASSERT_NEAR((waveOfTurns<float, true>(z)), std::cos(2 * M_PI * rest), 6e-8) << z;
  }
  for (uint32_t code = 1; code < 0x7C00; ++code) { // all positive f16
    auto x = fromBits<_Float16>(code);
    ASSERT_LE(unitsOff(logarithm2(x), std::log2(toDouble(x))), 0.51) << code;
    ASSERT_EQ(bitsOf(reciprocal(x)), bitsOf(halfFromDouble(1 / toDouble(x)))) << code;
    if (toDouble(x) < 15.9)
      ASSERT_LE(unitsOff(exponential2(x), std::exp2(toDouble(x))), 0.51) << code;
  }
}

TEST(Transcendentals, Edges) {
  EXPECT_EQ(exponential2(-HUGE_VALF), 0);
  EXPECT_EQ(exponential2(129.0f), HUGE_VALF);
  EXPECT_EQ(exponential2(-126.5f), 0) << "denormal results are 0";
  EXPECT_TRUE(isNan(exponential2(NAN)));
  EXPECT_EQ(logarithm2(0.0f), -HUGE_VALF);
  EXPECT_EQ(logarithm2(1e-40f), -HUGE_VALF) << "a denormal counts as 0";
  EXPECT_TRUE(isNan(logarithm2(-1.0f)));
  EXPECT_EQ(logarithm2(HUGE_VALF), HUGE_VALF);
  EXPECT_EQ(logarithm2(_Float16(0x1p-24)), _Float16(-24));
  EXPECT_EQ(bitsOf(reciprocal(-0.0f)), bitsOf(-HUGE_VALF));
  EXPECT_EQ(bitsOf(reciprocal(fromBits<float>(0x807FFFFF))), bitsOf(-HUGE_VALF)) << "a denormal counts as 0";
  EXPECT_EQ(bitsOf(reciprocal(fromBits<float>(0xFF7FFFFF))), bitsOf(-0.0f)) << "and is given as 0";
  EXPECT_EQ((waveOfTurns<float, false>(1000.5f)), 0);
  EXPECT_EQ((waveOfTurns<float, true>(-0.5f)), -1);
  EXPECT_TRUE(isNan(waveOfTurns<float, false>(HUGE_VALF)));
}

TEST(Transcendentals, ExactResultsStayExact) {
  for (float x : {1.0f, 4.0f, 0.25f, 0x1p60f, 0x1p-60f}) {
    EXPECT_EQ(reciprocal(x), 1 / x);
    EXPECT_EQ(squareRoot(x), std::sqrt(x));
    EXPECT_EQ(reciprocalSquareRoot(x), 1 / std::sqrt(x));
    EXPECT_EQ(exponential2(logarithm2(x)), x);
  }
  EXPECT_EQ(squareRoot(9.0f), 3);
  EXPECT_LT(double(squareRoot(3.0f)), std::sqrt(3.0)) << "else below the root";
}

TEST(Transcendentals, DoubleOnesAreCoarse) { // else a kernel without its Newton steps would look right
  double third = reciprocal(3.0);
  EXPECT_NE(third, 1.0 / 3);
  EXPECT_NEAR(third, 1.0 / 3, 0x1p-24);
  EXPECT_EQ(reciprocal(HUGE_VAL), 0);
}

TEST(Transcendentals, SegmentsOfTwoOverPi) { // the first three make up the number, to more bits than long double has
  double first = trigonometricSegment(1, 0), second = trigonometricSegment(1, 1), third = trigonometricSegment(1, 2);
  EXPECT_EQ(first, 0x1.45F306DC9C882p-1); // 2 / pi, cut
  EXPECT_NEAR(second / 0x1p-53, 0.65, 0.35);
  long double whole = (long double)first + second + third;
  EXPECT_LT(fabsl(whole - 0.63661977236758134307553505349005745L), 1e-19L);
  EXPECT_EQ(trigonometricSegment(0x1p60, 0), 0x1.45F306DC9C882p-1 - std::ldexp(std::floor(std::ldexp(first, 6)), -6) +
                                                 std::ldexp(std::floor(std::ldexp(second, 59)), -59))
      << "an exponent of 1083 skips six bits";
}

TEST(Rounding, FollowsTheHostMode) { // HostRounding sets it for an instruction
  std::fesetround(FE_UPWARD);
  volatile double value = 1.0001;
  _Float16 up = halfFromDouble(value);
  std::fesetround(FE_TONEAREST);
  EXPECT_GT(double(float(up)), 1.0001);
}

} // namespace
} // namespace heddle::simulator
