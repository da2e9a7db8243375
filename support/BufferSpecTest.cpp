// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The forms of a value, their errors, and random contents that stay the same for ever.
#include "support/BufferSpec.h"
#include "support/Hash.h"
#include "support/TestError.h"
#include <set>

using namespace heddle;
using Kind = BufferSpec::Kind;

namespace {

TEST(BufferSpec, Forms) {
  BufferSpec zeros = parseBufferSpec("f32[64,128]");
  EXPECT_EQ(zeros.kind, Kind::Zeros);
  EXPECT_EQ(zeros.shape, (std::vector<int64_t>{64, 128}));
  EXPECT_EQ(zeros.sizeBytes(), 64 * 128 * 4);
  EXPECT_EQ(parseBufferSpec("f64[]").elementCount(), 1);
  EXPECT_EQ(parseBufferSpec("i1[0,7]").elementCount(), 0);

  BufferSpec random = parseBufferSpec("rand:bf16[8]:7");
  EXPECT_EQ(random.kind, Kind::Random);
  EXPECT_EQ(random.type, ElementType::BF16);
  EXPECT_EQ(random.seed, 7u);
  EXPECT_EQ(parseBufferSpec("rand:bf16[8]").seed, 0u);

  BufferSpec pointers = parseBufferSpec("ptrs:a,b,c");
  EXPECT_EQ(pointers.names, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(pointers.sizeBytes(), 24);
  EXPECT_EQ(parseBufferSpec("@some/file.npy").path, "some/file.npy");
  for (const char *scalar : {"1000", "-2", "+3", "1.5", ".5", "-inf", "nan", "true", "0xff"})
    EXPECT_EQ(parseBufferSpec(scalar).kind, Kind::Scalar) << scalar;
}

TEST(BufferSpec, Errors) {
  struct {
    const char *text, *part;
  } const cases[] = {
      {"", "neither a buffer nor a number"},
      {"foo", "value `foo`: it is neither a buffer nor a number\na value is `@file.npy`"},
      {"@", "the file's name is empty"},
      {"f32[", "expected a shape in brackets"},
      {"f32[4", "expected a shape in brackets"},
      {"f32[4]x", "expected a shape in brackets"},
      {"f33[4]", "unknown element type `f33`"},
      {"f32[4,]", "`` is not a dimension"},
      {"f32[-1]", "`-1` is not a dimension"},
      {"f32[4x4]", "`4x4` is not a dimension"},
      {"f32[99999999999999999999]", "is not a dimension"},
      {"f32[4294967296,4294967296]", "has more than 2^63-1 elements"},
      {"f32[4294967296,1073741824]", "the size in bytes exceeds 2^63-1"},
      {"rand:f32", "expected a shape in brackets"},
      {"rand:", "expected a shape in brackets"},
      {"rand:f32[4]7", "`7` is not a seed"},
      {"rand:f32[4]:", "`:` is not a seed"},
      {"rand:f32[4]:-1", "`:-1` is not a seed"},
      {"ptrs:a,", "a buffer's name is empty"},
  };
  for (const auto &row : cases) {
    Error error = errorOf([&] { parseBufferSpec(row.text); });
    EXPECT_EQ(error.kind, ErrorClass::Input) << row.text;
    EXPECT_CONTAINS(messageOf([&] { parseBufferSpec(row.text); }), row.part);
  }
}

TEST(BufferSpec, ZerosAreZero) {
  EXPECT_EQ(materialize(parseBufferSpec("i16[3]")), std::string(6, '\0'));
}

TEST(BufferSpec, RandomStaysInItsRange) {
  for (ElementType type : allElementTypes()) {
    std::string text = std::string("rand:") + elementTypeName(type) + "[20000]:3";
    std::string bytes = materialize(parseBufferSpec(text));
    double low = isFloat(type) ? -1 : isUnsigned(type) ? 0 : -128;
    double high = isFloat(type) ? 1 : type == ElementType::I1 ? 2 : isUnsigned(type) ? 256 : 128;
    double sum = 0, least = 1e9, most = -1e9;
    for (int64_t i = 0; i < 20000; ++i) {
      double value = loadDouble(type, bytes.data() + i * elementSizeBytes(type));
      EXPECT_TRUE(value >= low && value < high) << text << " element " << i << " is " << value;
      sum += value;
      least = std::min(least, value);
      most = std::max(most, value);
    }
    EXPECT_NEAR(sum / 20000, isFloat(type) ? 0 : (low + high - 1) / 2, (high - low) / 50) << text;
    EXPECT_LE(least, low + (high - low) / 100) << text;
    EXPECT_GE(most, type == ElementType::I1 ? 1 : high - (high - low) / 8) << text;
  }
}

// Other machines and later versions must make the same bytes; never change these values.
TEST(BufferSpec, RandomIsFixed) {
  auto hash = [](const char *text) { return hashHex(materialize(parseBufferSpec(text))); };
  std::string first = materialize(parseBufferSpec("rand:f64[1]:0"));
  EXPECT_EQ(loadDouble(ElementType::F64, first.data()), double(0xe220a8397b1dcdafull >> 11) * 0x1p-52 - 1.0);
  EXPECT_NE(hash("rand:f32[1000]:7"), hash("rand:f32[1000]:8"));
  EXPECT_EQ(hash("rand:f32[1000]:7"), hash("rand:f32[10,100]:7"));
  EXPECT_EQ(hash("rand:f32[1000]:7"), "41aecdfd092b9b5b");
  EXPECT_EQ(hash("rand:bf16[1000]:7"), "da495c92b4e14211");
  EXPECT_EQ(hash("rand:i32[1000]:7"), "3b4ff801b24d4d7d");
}

TEST(BufferSpec, HugeBufferIsRefused) {
  Error error = errorOf([] { materialize(parseBufferSpec("i8[9000000000000000000]")); });
  EXPECT_EQ(error.kind, ErrorClass::Environment);
  EXPECT_CONTAINS(error.what(), "9000000000000000000 bytes");
}

} // namespace
