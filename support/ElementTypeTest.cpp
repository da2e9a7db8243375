// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversions over all bit patterns of the narrow formats, and scalars from text with their range errors.
#include "support/ElementType.h"
#include "support/TestError.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace heddle;
using enum ElementType;

namespace {

const ElementType narrowFloats[] = {F16, BF16, F8E4M3FN, F8E5M2, F8E4M3FNUZ, F8E5M2FNUZ};

double decode(ElementType type, uint32_t code) {
  return loadDouble(type, &code);
}

uint32_t encode(ElementType type, double value) {
  uint32_t code = 0;
  storeDouble(type, value, &code);
  return code;
}

uint32_t codeCount(ElementType type) {
  return 1u << (8 * elementSizeBytes(type));
}

TEST(ElementType, NamesAndSizes) {
  EXPECT_EQ(allElementTypes().size(), 17u);
  for (ElementType type : allElementTypes())
    EXPECT_EQ(parseElementType(elementTypeName(type)), type);
  EXPECT_EQ(parseElementType("si32"), I32);
  EXPECT_EQ(parseElementType("ui8"), UI8);
  EXPECT_EQ(parseElementType("ui1"), I1);
  EXPECT_EQ(elementSizeBytes(I1), 1);
  EXPECT_STREQ(numpyDtype(BF16), "<u2");
  EXPECT_STREQ(numpyDtype(F8E5M2), "|u1");
  EXPECT_FALSE(findElementType("f33"));
  std::string message = messageOf([] { parseElementType("float"); });
  EXPECT_CONTAINS(message, "unknown element type `float`");
  EXPECT_CONTAINS(message, "f8E4M3FNUZ");
}

TEST(ElementType, EveryCodeSurvivesTheRoundTrip) {
  for (ElementType type : narrowFloats)
    for (uint32_t code = 0; code < codeCount(type); ++code) {
      double value = decode(type, code);
      if (std::isnan(value))
        EXPECT_TRUE(std::isnan(decode(type, encode(type, value)))) << elementTypeName(type) << " " << code;
      else
        EXPECT_EQ(encode(type, value), code) << elementTypeName(type) << " " << value;
    }
}

// Between two adjacent codes the middle goes to the even code, and everything beside the middle to the nearer one.
TEST(ElementType, RoundsToNearestEven) {
  for (ElementType type : narrowFloats)
    for (uint32_t code = 0; code + 1 < codeCount(type) / 2; ++code) {
      double low = decode(type, code), high = decode(type, code + 1);
      if (!std::isfinite(low) || !std::isfinite(high))
        continue;
      double middle = (low + high) / 2;
      uint32_t even = code % 2 ? code + 1 : code;
      EXPECT_EQ(encode(type, middle), even) << elementTypeName(type) << " " << middle;
      EXPECT_EQ(encode(type, std::nextafter(middle, -1e300)), code) << elementTypeName(type) << " " << middle;
      EXPECT_EQ(encode(type, std::nextafter(middle, 1e300)), code + 1) << elementTypeName(type) << " " << middle;
      if (even != 0)
        EXPECT_EQ(encode(type, -middle), even | codeCount(type) / 2) << elementTypeName(type) << " " << middle;
    }
}

// bf16 is the upper half of f32, and the compiler's own f16 is IEEE: independent of our table.
TEST(ElementType, AgreesWithHardwareFormats) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    uint32_t bits = code << 16;
    float single;
    std::memcpy(&single, &bits, 4);
    if (!std::isnan(single))
      EXPECT_EQ(decode(BF16, code), single);
    auto half16 = uint16_t(code);
    _Float16 half;
    std::memcpy(&half, &half16, 2);
    if (!std::isnan(float(half)))
      EXPECT_EQ(decode(F16, code), double(half));
  }
}

TEST(ElementType, KnownValues) {
  struct {
    ElementType type;
    double largest, smallest;
    uint32_t one;
  } const known[] = {
      {F16, 65504, 0x1p-24, 0x3c00},  {BF16, 0x1.fep127, 0x1p-133, 0x3f80}, {F8E4M3FN, 448, 0x1p-9, 0x38},
      {F8E5M2, 57344, 0x1p-16, 0x3c}, {F8E4M3FNUZ, 240, 0x1p-10, 0x40},     {F8E5M2FNUZ, 57344, 0x1p-17, 0x40},
  };
  for (const auto &row : known) {
    double largest = 0;
    for (uint32_t code = 0; code < codeCount(row.type); ++code)
      if (std::isfinite(decode(row.type, code)))
        largest = std::max(largest, decode(row.type, code));
    EXPECT_EQ(largest, row.largest) << elementTypeName(row.type);
    EXPECT_EQ(decode(row.type, 1), row.smallest) << elementTypeName(row.type);
    EXPECT_EQ(encode(row.type, 1.0), row.one) << elementTypeName(row.type);
  }
}

TEST(ElementType, OverflowNanAndSignedZero) {
  double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(encode(F16, 65519.99), 0x7bffu);
  EXPECT_EQ(encode(F16, 65520), 0x7c00u);
  EXPECT_EQ(encode(F16, -1e300), 0xfc00u);
  EXPECT_EQ(encode(F8E4M3FN, 464), 0x7eu);
  EXPECT_EQ(encode(F8E4M3FN, 464.1), 0x7fu);
  EXPECT_EQ(encode(F8E4M3FN, -infinity), 0xffu);
  EXPECT_EQ(encode(F8E5M2, infinity), 0x7cu);
  EXPECT_EQ(encode(F8E4M3FNUZ, 1e9), 0x80u);
  EXPECT_EQ(encode(F8E4M3FNUZ, -0.0), 0u);
  EXPECT_EQ(encode(F8E5M2FNUZ, -1e-30), 0u);
  EXPECT_EQ(encode(BF16, -0.0), 0x8000u);
  EXPECT_EQ(encode(BF16, 0x1p-140), 0u);
  for (ElementType type : narrowFloats)
    EXPECT_TRUE(std::isnan(decode(type, encode(type, nan)))) << elementTypeName(type);
}

TEST(ElementType, IntegersExtendTruncateAndSaturate) {
  uint64_t bits = 0xfedc;
  EXPECT_EQ(loadInt(I8, &bits), -36);
  EXPECT_EQ(loadInt(UI8, &bits), 220);
  EXPECT_EQ(loadInt(I16, &bits), -292);
  EXPECT_EQ(loadDouble(UI16, &bits), 65244.0);
  int8_t small;
  storeDouble(I8, 300, &small);
  EXPECT_EQ(small, 127);
  storeDouble(I8, -1.9, &small);
  EXPECT_EQ(small, -1);
  storeInt(I8, 300, &small);
  EXPECT_EQ(small, 44);
  int64_t wide;
  storeDouble(I64, 1e300, &wide);
  EXPECT_EQ(wide, std::numeric_limits<int64_t>::max());
  storeDouble(I1, 0.5, &small);
  EXPECT_EQ(small, 1);
}

TEST(ElementType, ScalarsFromText) {
  EXPECT_EQ(parseScalar(I32, "-1"), 0xffffffffu);
  EXPECT_EQ(parseScalar(I8, "0xff"), 0xffu);
  EXPECT_EQ(parseScalar(I64, "-9223372036854775808"), 1ull << 63);
  EXPECT_EQ(parseScalar(UI64, "18446744073709551615"), ~0ull);
  EXPECT_EQ(parseScalar(I1, "true"), 1u);
  EXPECT_EQ(parseScalar(F32, "1.5"), 0x3fc00000u);
  EXPECT_EQ(parseScalar(F32, "-inf"), 0xff800000u);
  EXPECT_EQ(parseScalar(F32, "1e-60"), 0u);
  EXPECT_EQ(parseScalar(BF16, "3"), 0x4040u);
  EXPECT_EQ(parseScalar(F16, "nan") & 0x7c00, 0x7c00u);
  EXPECT_CONTAINS(messageOf([] { parseScalar(I8, "300"); }), "300 does not fit i8\ni8 holds values from -128 to 127");
  EXPECT_CONTAINS(messageOf([] { parseScalar(I8, "0x100"); }), "0x100 does not fit i8");
  EXPECT_CONTAINS(messageOf([] { parseScalar(UI8, "-1"); }), "-1 does not fit ui8");
  EXPECT_CONTAINS(messageOf([] { parseScalar(I64, "99999999999999999999"); }), "does not fit i64");
  EXPECT_CONTAINS(messageOf([] { parseScalar(F16, "70000"); }),
                  "70000 does not fit f16\nf16 holds values from -65504 to 65504");
  EXPECT_CONTAINS(messageOf([] { parseScalar(F32, "1e39"); }), "1e39 does not fit f32");
  EXPECT_CONTAINS(messageOf([] { parseScalar(F8E4M3FN, "inf"); }), "inf does not fit f8E4M3FN");
  EXPECT_CONTAINS(messageOf([] { parseScalar(I32, "1.5"); }), "`1.5` is not a scalar of type i32: expected an integer");
  for (const char *bad : {"", "-", "x", "1x", "0x", "--1", "+-1"})
    EXPECT_CONTAINS(messageOf([&] { parseScalar(I32, bad); }), "is not a scalar of type i32");
  EXPECT_CONTAINS(messageOf([] { parseScalar(F32, "one"); }), "expected a number");
}

TEST(ElementType, TextReadsBackToTheSameBits) {
  for (ElementType type : allElementTypes())
    for (uint64_t sample : {uint64_t(0), uint64_t(1), uint64_t(0x3f), uint64_t(0x3fc1a2b3c4d5e6f7)}) {
      uint64_t bits = elementSizeBytes(type) == 8 ? sample : sample & ((1ull << (8 * elementSizeBytes(type))) - 1);
      if (type == I1)
        bits &= 1;
      if (isFloat(type) && std::isnan(loadDouble(type, &bits)))
        continue;
      EXPECT_EQ(parseScalar(type, formatElement(type, &bits)), bits) << elementTypeName(type) << " " << bits;
    }
}

} // namespace
