// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Round trips, byte orders, Fortran order, and every way in which a file can be wrong.
#include "support/Npy.h"
#include "support/TestError.h"
#include <cstring>
#include <filesystem>

using namespace heddle;

namespace {

std::string fileOf(const std::string &header, const std::string &data, int major = 1) {
  std::string bytes("\x93NUMPY", 6);
  bytes += char(major);
  bytes += '\0';
  auto length = uint32_t(header.size());
  bytes.append(reinterpret_cast<const char *>(&length), major == 1 ? 2 : 4);
  return bytes + header + data;
}

std::string headerOf(const std::string &descr, const std::string &order, const std::string &shape) {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

TEST(Npy, RoundTripOfEveryDtype) {
  for (const char *dtype : {"|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8"})
    for (const std::vector<int64_t> &shape : {std::vector<int64_t>{}, {5}, {2, 3}, {0, 4}, {2, 1, 3}}) {
      int64_t count = 1;
      for (int64_t dimension : shape)
        count *= dimension;
      NpyArray array{dtype, shape, std::string(size_t(count * npyElementSizeBytes(dtype)), '\1')};
      std::string bytes = serializeNpy(array);
      EXPECT_EQ((bytes.size() - array.bytes.size()) % 64, 0u);
      NpyArray back = parseNpy(bytes, "a.npy");
      EXPECT_EQ(back.dtype, dtype);
      EXPECT_EQ(back.shape, shape);
      EXPECT_EQ(back.bytes, array.bytes);
    }
}

TEST(Npy, ManyDimensionsNeedFormatTwo) {
  NpyArray array{"|u1", std::vector<int64_t>(30000, 1), "x"};
  std::string bytes = serializeNpy(array);
  EXPECT_EQ(bytes[6], 2);
  EXPECT_EQ(parseNpy(bytes, "a.npy").shape, array.shape);
}

TEST(Npy, FormatsTwoAndThreeAreRead) {
  for (int major : {1, 2, 3})
    EXPECT_EQ(parseNpy(fileOf(headerOf("<i2", "False", "(1,)"), "ab", major), "a.npy").bytes, "ab");
}

TEST(Npy, BigEndianIsSwapped) {
  NpyArray array = parseNpy(fileOf(headerOf(">i2", "False", "(2,)"), "abcd"), "a.npy");
  EXPECT_EQ(array.dtype, "<i2");
  EXPECT_EQ(array.bytes, "badc");
  EXPECT_EQ(parseNpy(fileOf(headerOf(">u1", "False", "(2,)"), "ab"), "a.npy").dtype, "|u1");
}

TEST(Npy, EmptyFortranArrayOfHugeDimensions) {
  NpyArray array =
      parseNpy(fileOf(headerOf("<f4", "True", "(0, 4611686018427387904, 4611686018427387904)"), ""), "a.npy");
  EXPECT_EQ(array.bytes, "");
}

TEST(Npy, FortranOrderBecomesC) {
  EXPECT_EQ(parseNpy(fileOf(headerOf("|u1", "True", "(2, 3)"), "abcdef"), "a.npy").bytes, "acebdf");
  // element (i, j, k) of shape (2, 3, 2) lies at i + 2j + 6k
  EXPECT_EQ(parseNpy(fileOf(headerOf("|u1", "True", "(2, 3, 2)"), "abcdefghijkl"), "a.npy").bytes, "agciekbhdjfl");
}

TEST(Npy, OtherSpellingsOfTheHeader) {
  EXPECT_EQ(parseNpy(fileOf("{\"shape\":(2L,),\"fortran_order\":False,\"descr\":\"=i1\"}", "ab"), "a").bytes, "ab");
  EXPECT_EQ(parseNpy(fileOf(headerOf("?", "False", "()"), "a"), "a").dtype, "|b1");
}

TEST(Npy, WrongFiles) {
  std::string good = fileOf(headerOf("<f4", "False", "(2,)"), "12345678");
  struct {
    std::string bytes, part;
  } const cases[] = {
      {"", "a.npy: not a .npy file"},
      {"PK\3\4zipzipzip", "not a .npy file"},
      {fileOf("", "", 4), "format 4.0; known are 1.0, 2.0 and 3.0"},
      {good.substr(0, 9), "truncated .npy file: 9 bytes, the header starts at 10"},
      {good.substr(0, 20), "truncated .npy file: 20 bytes, the header alone ends at"},
      {good.substr(0, good.size() - 1),
       "truncated .npy file: shape [2] of '<f4' takes 8 bytes of data, the file has 7"},
      {good + "9", "trailing bytes in the .npy file: shape [2] of '<f4' takes 8 bytes of data, the file has 9"},
      {fileOf(headerOf("|O", "False", "()"), ""), "dtype '|O': object arrays are not supported"},
      {fileOf(headerOf("<c8", "False", "()"), ""), "dtype '<c8': complex numbers are not supported"},
      {fileOf(headerOf("<U3", "False", "()"), ""), "dtype '<U3': the dtype is not supported"},
      {fileOf(headerOf("<f3", "False", "()"), ""), "the dtype is not supported"},
      {fileOf(headerOf("", "False", "()"), ""), "the dtype is not supported"},
      {fileOf(headerOf("|V8", "False", "()"), ""), "structured dtypes are not supported"},
      {fileOf("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': ()}", ""),
       "structured dtypes are not supported"},
      {fileOf(headerOf("<f4", "False", "(4294967296, 4294967296)"), ""), "has more than 2^63-1 elements"},
      {fileOf(headerOf("<f8", "False", "(4294967296, 1073741824)"), ""), "has more than 2^63-1 bytes"},
      {fileOf(headerOf("<f4", "False", "(99999999999999999999,)"), ""), "a dimension exceeds 2^63-1"},
      {fileOf(headerOf("<f4", "False", "(-1,)"), ""), "expected a dimension"},
      {fileOf(headerOf("<f4", "False", "(a,)"), ""), "expected a dimension"},
      {fileOf(headerOf("<f4", "Maybe", "()"), ""), "expected True or False"},
      {fileOf("{'descr': '<f4', 'shape': ()}", ""), "key 'fortran_order' is missing"},
      {fileOf("{'descr': '<f4', 'descr': '<f4'}", ""), "key 'descr' twice"},
      {fileOf("{'other': 3}", ""), "unexpected key 'other'"},
      {fileOf("{'descr", ""), "a string does not end"},
      {fileOf("[]", ""), "expected '{'"},
      {fileOf("{} x", ""), "text after the dictionary"},
      {fileOf("{'descr': '<f4' 'shape': ()}", ""), "expected '}'"},
  };
  for (const auto &row : cases) {
    EXPECT_EQ(errorOf([&] { parseNpy(row.bytes, "a.npy"); }).kind, ErrorClass::Input);
    EXPECT_CONTAINS(messageOf([&] { parseNpy(row.bytes, "a.npy"); }), row.part);
  }
}

TEST(Npy, EveryPrefixAndFlippedByteIsHandled) {
  std::string good = fileOf(headerOf("<f4", "True", "(2, 2)"), "0123456789abcdef");
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_THROW(parseNpy(good.substr(0, length), "a.npy"), Error) << length;
  for (size_t at = 0; at < good.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[at] = char(bad[at] ^ (1 << bit));
      try {
        parseNpy(bad, "a.npy");
      } catch (const Error &) {
      }
    }
}

TEST(Npy, WritingNamesThePath) {
  Error error = errorOf([] { writeNpy("/no/such/folder/a.npy", {"|u1", {1}, "x"}); });
  EXPECT_EQ(error.kind, ErrorClass::Environment);
  EXPECT_CONTAINS(error.what(), "cannot write `/no/such/folder/a.npy`");
  EXPECT_EQ(errorOf([] { serializeNpy({"<f4", {2}, "x"}); }).kind, ErrorClass::Internal);
}

} // namespace
