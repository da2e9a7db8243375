// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversions between floating-point formats: every code of the narrow ones, and around every boundary of the wide
// ones.
#include "tests/numerics/PlainFloat.h"
#include "tests/numerics/Support.h"

using namespace heddle::numerics;

static std::string convert(const std::string &operation, const std::string &from, const std::string &to) {
  return "  %r = " + operation + " : @" + from + (operation.starts_with("arith") ? " to @" : " -> @") + to;
}

template <typename Code>
static std::vector<Code> allCodes() {
  std::vector<Code> codes;
  for (uint32_t code = 0; code <= std::numeric_limits<Code>::max(); ++code)
    codes.push_back(Code(code));
  return codes;
}

// Equal codes, where two NaNs are equal and `input` shows the operand.
template <typename Code>
static void expectCodes(const PlainFormat &format, const std::vector<Code> &actual,
                        const std::vector<uint32_t> &expected, const std::function<double(size_t)> &input) {
  ASSERT_EQ(actual.size(), expected.size());
  size_t wrong = 0;
  for (size_t i = 0; i < actual.size(); ++i)
    if (actual[i] != expected[i] && !(format.isNan(actual[i]) && format.isNan(expected[i])) && wrong++ == 0)
      ADD_FAILURE() << show(input(i)) << " to " << format.name << " gives " << std::hex << +actual[i] << ", expected "
                    << expected[i];
  EXPECT_EQ(wrong, 0u) << "of " << actual.size();
}

TEST(Conversion, every_fp8_code_widens) {
  for (const PlainFormat &format : plainFp8) {
    auto codes = allCodes<uint8_t>();
    std::vector<float> values;
    for (uint8_t code : codes)
      values.push_back(float(format.valueOf(code)));
    auto of = [&](size_t i) { return format.name + " code " + std::to_string(i); };
    expectSame(mapOnDevice<float>({format.name, "f32"}, convert("tt.fp_to_fp %a", format.name, "f32"), codes), values,
               of);
    expectSame(mapOnDevice<float>({format.name, "f32"}, convert("arith.extf %a", format.name, "f32"), codes), values,
               of);
    for (const PlainFormat &wide : {plainF16, plainBF16}) {
      std::vector<uint32_t> expected;
      for (uint8_t code : codes)
        expected.push_back(wide.nearest(format.valueOf(code), false));
      expectCodes(
          wide,
          mapOnDevice<uint16_t>({format.name, wide.name}, convert("tt.fp_to_fp %a", format.name, wide.name), codes),
          expected, [&](size_t i) { return format.valueOf(codes[i]); });
    }
  }
}

TEST(Conversion, every_16_bit_code_widens) {
  auto codes = allCodes<uint16_t>();
  for (const PlainFormat &format : {plainF16, plainBF16}) {
    std::vector<float> values;
    std::vector<double> doubles;
    for (uint16_t code : codes)
      values.push_back(float(format.valueOf(code))), doubles.push_back(format.valueOf(code));
    auto of = [&](size_t i) { return format.name + " code " + std::to_string(i); };
    expectSame(mapOnDevice<float>({format.name, "f32"}, convert("arith.extf %a", format.name, "f32"), codes), values,
               of);
    expectSame(mapOnDevice<double>({format.name, "f64"}, convert("arith.extf %a", format.name, "f64"), codes), doubles,
               of);
  }
}

TEST(Conversion, every_16_bit_code_narrows_to_fp8) {
  auto codes = allCodes<uint16_t>();
  for (const PlainFormat &from : {plainF16, plainBF16})
    for (const PlainFormat &to : plainFp8) {
      std::vector<uint32_t> expected;
      for (uint16_t code : codes)
        expected.push_back(to.nearest(from.valueOf(code), /*saturate=*/true));
      expectCodes(to,
                  mapOnDevice<uint8_t>({from.name, to.name},
                                       convert("tt.fp_to_fp %a, rounding = rtne", from.name, to.name), codes),
                  expected, [&](size_t i) { return from.valueOf(codes[i]); });
    }
}

TEST(Conversion, between_formats_of_one_width) {
  auto convertAll = [](const PlainFormat &from, const PlainFormat &to, bool saturate, const auto &codes) {
    using Code = typename std::decay_t<decltype(codes)>::value_type;
    std::vector<uint32_t> expected;
    for (Code code : codes)
      expected.push_back(to.nearest(from.valueOf(code), saturate));
    expectCodes(
        to,
        mapOnDevice<Code>({from.name, to.name}, convert("tt.fp_to_fp %a, rounding = rtne", from.name, to.name), codes),
        expected, [&](size_t i) { return from.valueOf(codes[i]); });
  };
  convertAll(plainF16, plainBF16, false, allCodes<uint16_t>());
  convertAll(plainBF16, plainF16, false, allCodes<uint16_t>());
}

// Values at, and just beside, every value of a format and every middle between two of them.
template <typename T>
static std::vector<T> boundaries(const PlainFormat &format) {
  std::vector<T> values;
  double infinity = std::numeric_limits<double>::infinity();
  auto around = [&](double at) {
    T value = T(at);
    for (T each : {value, std::nextafter(value, T(infinity)), std::nextafter(value, T(-infinity))})
      values.push_back(each), values.push_back(-each);
  };
  for (uint32_t code = 0; code < format.largestCode(); ++code) {
    double low = format.valueOf(code), high = format.valueOf(code + 1);
    around(low), around(low + (high - low) / 2);
  }
  double largest = format.valueOf(format.largestCode()), step = largest - format.valueOf(format.largestCode() - 1);
  for (double each : {largest, largest + step / 2, largest + step, 2 * largest, infinity, std::nan("")})
    around(each);
  return values;
}

template <typename T, typename Code>
static void narrow(const PlainFormat &format, bool saturate) {
  std::string type = sizeof(T) == 4 ? "f32" : "f64";
  auto values = randomValues<T>(200000, 1, boundaries<T>(format));
  std::vector<uint32_t> expected;
  for (T value : values)
    expected.push_back(format.nearest(double(value), saturate));
  SCOPED_TRACE(type);
  expectCodes(
      format,
      mapOnDevice<Code>({type, format.name}, convert("tt.fp_to_fp %a, rounding = rtne", type, format.name), values),
      expected, [&](size_t i) { return double(values[i]); });
}

TEST(Conversion, f32_narrows_to_fp8) {
  for (const PlainFormat &format : plainFp8)
    narrow<float, uint8_t>(format, /*saturate=*/true);
}

// Bounds within the format make a later clamp needless, bounds beyond it do not; NaN passes or becomes a bound.
TEST(Conversion, clamped_f32_narrows_to_fp8) {
  for (const PlainFormat &format : plainFp8)
    for (double share : {0.5, 1.0, 2.0})
      for (bool propagates : {false, true}) {
        auto values = randomValues<float>(20000, 2, boundaries<float>(format));
        float bound = float(share * format.valueOf(format.largestCode()));
        std::vector<uint32_t> expected;
        for (float value : values) {
          float within = std::isnan(value) ? (propagates ? value : -bound) : std::clamp(value, -bound, bound);
          expected.push_back(format.nearest(within, /*saturate=*/true));
        }
        std::string number = std::to_string(bound);
        std::string body =
            "  %low = arith.constant dense<-" + number + "> : @f32\n  %high = arith.constant dense<" + number +
            "> : @f32\n  %c = tt.clampf %a, %low, %high, propagateNan = " + (propagates ? "all" : "none") +
            " : @f32\n" + convert("tt.fp_to_fp %c, rounding = rtne", "f32", format.name);
        SCOPED_TRACE(body);
        expectCodes(format, mapOnDevice<uint8_t>({"f32", format.name}, body, values), expected,
                    [&](size_t i) { return double(values[i]); });
      }
}

// A value just above the middle of two codes, by less than an f32 step, must not be rounded twice.
TEST(Conversion, f64_narrows_once) {
  for (const PlainFormat &format : plainFp8)
    narrow<double, uint8_t>(format, /*saturate=*/true);
  narrow<double, uint16_t>(plainF16, false);
  narrow<double, uint16_t>(plainBF16, false);
}

TEST(Conversion, f32_narrows_to_16_bits) {
  narrow<float, uint16_t>(plainF16, false);
  narrow<float, uint16_t>(plainBF16, false);
}

TEST(Conversion, toward_zero) {
  for (const PlainFormat &format : {plainF16, plainBF16}) {
    auto values = randomValues<float>(100000, 2, boundaries<float>(format));
    std::erase_if(values, [](float value) { return std::isinf(value); });
    std::vector<uint32_t> expected;
    for (float value : values)
      expected.push_back(format.towardZero(value));
    expectCodes(format,
                mapOnDevice<uint16_t>({"f32", format.name},
                                      convert("tt.fp_to_fp %a, rounding = rtz", "f32", format.name), values),
                expected, [&](size_t i) { return double(values[i]); });
  }
}

TEST(Conversion, f64_to_f32) {
  auto values =
      randomValues<double>(100000, 3, {0.0, -0.0, 1e-40, -1e-46, 7e-46, 3.4028235677973366e38, 3.5e38, INFINITY, NAN});
  RandomBits random(4);
  for (size_t i = 50000; i < values.size(); ++i) // most random doubles overflow: these do not
    values[i] = std::ldexp(double(int64_t(random.next())), int(random.next() % 290) - 210);
  std::vector<float> expected(values.begin(), values.end());
  expectSame(mapOnDevice<float>({"f64", "f32"}, convert("arith.truncf %a", "f64", "f32"), values), expected,
             [&](size_t i) { return show(values[i]); });
}

// A double that rounds to fewer bits as `exact` does: when inexact, its last bit is set.
static double toOdd(long double exact) {
  double near = double(exact);
  if (near == exact)
    return near;
  double low = near < exact ? near : std::nextafter(near, -INFINITY), high = std::nextafter(low, INFINITY);
  return std::bit_cast<uint64_t>(low) % 2 ? low : high;
}

template <typename Int>
static void expectFromInteger(const std::string &type, bool isSigned) {
  std::vector<Int> first;
  for (int shift = 0; shift < int(sizeof(Int)) * 8; ++shift)
    for (int delta = -2; delta <= 2; ++delta)
      first.push_back(Int((uint64_t(1) << shift) + delta)), first.push_back(Int(-(int64_t(1) << shift) + delta));
  for (int bits = 9; bits < int(sizeof(Int)) * 8; ++bits) // middles of bf16 and f16, and just beside
    for (uint64_t low : {uint64_t(0), uint64_t(1), ~uint64_t(0)})
      for (int kept : {8, 11, 24})
        if (bits > kept)
          first.push_back(Int((uint64_t(1) << bits) + (uint64_t(1) << (bits - kept)) + low));
  auto values = randomValues<Int>(20000, 5, first);
  using Unsigned = std::make_unsigned_t<Int>;
  auto exact = [&](Int value) -> long double {
    return isSigned ? (long double)(value) : (long double)(Unsigned(value));
  };
  std::string operation = isSigned ? "arith.sitofp %a" : "arith.uitofp %a";
  auto of = [&](size_t i) { return operation + " " + std::to_string(int64_t(values[i])); };
  std::vector<float> floats;
  std::vector<double> doubles;
  for (Int value : values)
    floats.push_back(float(exact(value))), doubles.push_back(double(exact(value)));
  expectSame(mapOnDevice<float>({type, "f32"}, convert(operation, type, "f32"), values), floats, of);
  expectSame(mapOnDevice<double>({type, "f64"}, convert(operation, type, "f64"), values), doubles, of);
  for (const PlainFormat &format : {plainF16, plainBF16}) {
    std::vector<uint32_t> expected;
    for (Int value : values)
      expected.push_back(format.nearest(toOdd(exact(value)), false));
    expectCodes(format, mapOnDevice<uint16_t>({type, format.name}, convert(operation, type, format.name), values),
                expected, [&](size_t i) { return double(exact(values[i])); });
  }
}

TEST(Conversion, integers_to_floats) {
  for (bool isSigned : {true, false}) {
    expectFromInteger<int8_t>("i8", isSigned);
    expectFromInteger<int16_t>("i16", isSigned);
    expectFromInteger<int32_t>("i32", isSigned);
    expectFromInteger<int64_t>("i64", isSigned);
  }
}

/// The same bits with one, two and four elements a thread as with eight: chips convert adjacent elements together.
template <typename Result, typename From>
static void expectSameOfAnyTile(const Types &types, const std::string &body, const std::vector<From> &values) {
  auto wanted = mapOnDevice<Result>(types, body, values);
  for (int elements : {64, 128, 256, 512})
    EXPECT_EQ(mapTilesOnDevice<Result>(elements, types, body, values), wanted)
        << body << ", tiles of " << elements << " elements";
}

TEST(Conversion, few_elements_a_thread) {
  std::vector<uint8_t> bytes;
  for (int i = 0; i < 2048; ++i)
    bytes.push_back(uint8_t(i));
  for (const char *operation : {"arith.sitofp %a", "arith.uitofp %a"}) {
    expectSameOfAnyTile<float>({"i8", "f32"}, convert(operation, "i8", "f32"), bytes);
    expectSameOfAnyTile<uint16_t>({"i8", "f16"}, convert(operation, "i8", "f16"), bytes);
    expectSameOfAnyTile<uint16_t>({"i8", "bf16"}, convert(operation, "i8", "bf16"), bytes);
  }
  std::erase_if(bytes, [](uint8_t code) { return (code & 0x7f) > 0x7b; }); // numbers of either format
  auto shorts = randomValues<uint16_t>(2048, 7);
  std::erase_if(shorts, [](uint16_t code) { return (code & 0x7c00) == 0x7c00 || (code & 0x7f80) == 0x7f80; });
  for (const char *narrow : {"f8E4M3FN", "f8E5M2"})
    for (const char *wide : {"f16", "bf16", "f32"}) {
      std::string widen = convert("tt.fp_to_fp %a", narrow, wide);
      if (std::string(wide) == "f32")
        expectSameOfAnyTile<uint32_t>({narrow, wide}, widen, bytes);
      else
        expectSameOfAnyTile<uint16_t>({narrow, wide}, widen, bytes);
      if (std::string(wide) != "f32")
        expectSameOfAnyTile<uint8_t>({wide, narrow}, convert("tt.fp_to_fp %a, rounding = rtne", wide, narrow), shorts);
    }
  for (const char *type : {"f16", "bf16"}) {
    std::string tile = std::string("@") + type;
    expectSameOfAnyTile<uint16_t>({type, type},
                                  "%s = arith.addf %a, %a : " + tile + "\n%r = arith.mulf %s, %a : " + tile, shorts);
  }
}

// Saturation, NaN to 0; types under 32 bits take the low bits of the 32-bit result.
template <typename Int>
static Int toInteger(double value, bool isSigned) {
  if (std::isnan(value))
    return 0;
  int bits = std::max<int>(32, sizeof(Int) * 8);
  double low = isSigned ? -std::ldexp(1.0, bits - 1) : 0, high = std::ldexp(1.0, isSigned ? bits - 1 : bits);
  if (value <= low)
    return Int(isSigned ? uint64_t(1) << (bits - 1) : 0);
  if (value >= high)
    return Int(isSigned ? (uint64_t(1) << (bits - 1)) - 1 : ~uint64_t(0));
  return isSigned ? Int(int64_t(value)) : Int(uint64_t(value));
}

template <typename T, typename Int>
static void expectToInteger(const std::string &type, const std::string &to) {
  double infinity = INFINITY;
  std::vector<T> first{T(0.0),       T(-0.0),         T(0.5), T(-0.99), T(1.5), T(infinity),
                       T(-infinity), T(std::nan("")), T(-1),  T(-1e30), T(1e30)};
  for (int shift : {7, 8, 15, 16, 31, 32, 63, 64})
    for (double sign : {-1.0, 1.0}) {
      T edge = T(sign * std::ldexp(1.0, shift));
      for (T each : {edge, std::nextafter(edge, T(0)), std::nextafter(edge, T(sign * infinity))})
        first.push_back(each);
    }
  auto values = randomValues<T>(20000, 6, first);
  for (bool isSigned : {true, false}) {
    std::string operation = isSigned ? "arith.fptosi %a" : "arith.fptoui %a", device = heddle::testDevice();
    bool isNvidia = device.starts_with("threads") || device.starts_with("cuda"); // where a negative number gives 0
    std::vector<Int> expected;
    for (T value : values)
      expected.push_back(toInteger<Int>(double(value), isSigned || (sizeof(Int) == 1 && !isNvidia)));
    expectSame(mapOnDevice<Int>({type, to}, convert(operation, type, to), values), expected,
               [&](size_t i) { return operation + " to " + to + " of " + show(double(values[i])); });
  }
}

TEST(Conversion, floats_to_integers) {
  expectToInteger<float, int8_t>("f32", "i8");
  expectToInteger<float, int16_t>("f32", "i16");
  expectToInteger<float, int32_t>("f32", "i32");
  expectToInteger<float, int64_t>("f32", "i64");
  expectToInteger<double, int32_t>("f64", "i32");
  expectToInteger<double, int64_t>("f64", "i64");
}

TEST(Conversion, every_16_bit_float_to_i32) {
  auto codes = allCodes<uint16_t>();
  for (const PlainFormat &format : {plainF16, plainBF16}) {
    std::vector<int32_t> expected;
    for (uint16_t code : codes)
      expected.push_back(toInteger<int32_t>(format.valueOf(code), true));
    expectSame(mapOnDevice<int32_t>({format.name, "i32"}, convert("arith.fptosi %a", format.name, "i32"), codes),
               expected, [&](size_t i) { return format.name + " " + show(format.valueOf(codes[i])); });
  }
}
