// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The lines of tt.print for every element type.
#include "runtime/Print.h"
#include "support/TestError.h"

using namespace heddle;

namespace {

using Lines = std::vector<std::string>;

Lines linesOf(const PackageSite &site, int32_t operand, const void *data) {
  Lines lines;
  formatPrint(site, operand, data, {1, 2, 3}, [&](const std::string &line) {
    lines.push_back(line);
    return true;
  });
  EXPECT_EQ(countPrintLines(site, operand, data), int64_t(lines.size()));
  return lines;
}

/// The value part of a scalar's line.
std::string valueOf(const std::string &type, uint64_t bits, bool isSigned = true, bool hex = false) {
  PackageSite site{"tt.print", "", 0, 0, " v: ", {{type, {}, isSigned}}, hex};
  std::string line = linesOf(site, 0, &bits).at(0), start = "pid (1, 2, 3) idx () v: ";
  EXPECT_TRUE(line.starts_with(start)) << line;
  return line.substr(start.size());
}

TEST(Print, IndicesAreRowMajor) {
  PackageSite site{"tt.print", "", 0, 0, " x: ", {{"i16", {2, 2}, true}}, false};
  int16_t data[] = {5, -6, 7, 8};
  EXPECT_EQ(linesOf(site, 0, data), (Lines{"pid (1, 2, 3) idx (0, 0) x: 5", "pid (1, 2, 3) idx (0, 1) x: -6",
                                           "pid (1, 2, 3) idx (1, 0) x: 7", "pid (1, 2, 3) idx (1, 1) x: 8"}));
}

TEST(Print, IndicesAreAsWideAsTheLast) {
  PackageSite site{"tt.print", "", 0, 0, " x: ", {{"i8", {2, 11}, true}}, false};
  int8_t data[22] = {};
  Lines lines = linesOf(site, 0, data);
  EXPECT_EQ(lines[9], "pid (1, 2, 3) idx (0,  9) x: 0");
  EXPECT_EQ(lines[21], "pid (1, 2, 3) idx (1, 10) x: 0");
}

TEST(Print, PrefixesAndOperands) {
  PackageSite site{"tt.print", "", 0, 0, "hello", {}, false};
  EXPECT_EQ(linesOf(site, -1, nullptr), Lines{"pid (1, 2, 3) hello"});
  site.message = " : ";
  EXPECT_EQ(linesOf(site, -1, nullptr), Lines{"pid (1, 2, 3)"});
  int32_t value = 4;
  site.operands = {{"i32", {}, true}, {"i32", {}, true}};
  site.message = "a";
  EXPECT_EQ(linesOf(site, 1, &value), Lines{"pid (1, 2, 3) idx () a: (operand 1) 4"});
  EXPECT_EQ(linesOf(site, 7, &value), Lines{"pid (1, 2, 3) a (operand 7)"}); // an operand that is not there
  site.operands = {{"i32", {0}, true}};
  EXPECT_EQ(linesOf(site, 0, &value), Lines{});
}

TEST(Print, EveryElementType) {
  EXPECT_EQ(valueOf("i8", 0xff), "-1");
  EXPECT_EQ(valueOf("i8", 0xff, false), "255");
  EXPECT_EQ(valueOf("i64", ~0ull, false), "18446744073709551615");
  EXPECT_EQ(valueOf("i1", 1), "1");
  EXPECT_EQ(valueOf("f32", 0x3fc00000), "1.500000");
  EXPECT_EQ(valueOf("f64", 0xbff8000000000000), "-1.500000");
  EXPECT_EQ(valueOf("f16", 0x7c00), "inf");
  EXPECT_EQ(valueOf("bf16", 0x4040), "3.000000");
  EXPECT_EQ(valueOf("f8E4M3FN", 0x38), "1.000000");
  EXPECT_EQ(valueOf("f8E5M2", 0x3c), "1.000000");
  EXPECT_EQ(valueOf("f8E4M3FNUZ", 0x80), "nan");
  EXPECT_EQ(valueOf("ptr<f32>", 0x1000), "0x0000000000001000");
  EXPECT_EQ(valueOf("i16", 0xff, true, true), "0x00ff");
  EXPECT_EQ(valueOf("f32", 0x3fc00000, true, true), "0x1.8p+0");
}

TEST(Print, StopsWhenToldTo) {
  PackageSite site{"tt.print", "", 0, 0, "x", {{"i8", {100}, true}}, false};
  char data[100] = {};
  int lines = 0;
  formatPrint(site, 0, data, {0, 0, 0}, [&](const std::string &) { return ++lines < 3; });
  EXPECT_EQ(lines, 3);
}

} // namespace
