// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops that count in each known way, and some that only look like it.
#include "compiler/analysis/RingNumbers.h"
#include "compiler/analysis/AnalysisTest.h"
#include <fmt/format.h>

using namespace mlir;
using namespace heddle;
using namespace heddle::analysis;

namespace {

/// `offset mod modulus` of the value named `it` in a loop from `first` on in steps of `step` that carries %at from
/// `init` on and yields %next; `none` where nothing is known.
std::string numberOf(const std::string &body, int first = 0, int step = 1, int init = 0) {
  Analysed program(fmt::format(R"(
    tt.func public @k(%n: i32, %any: i32) {{
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %two = arith.constant 2 : i32
      %three = arith.constant 3 : i32
      %first = arith.constant {} : i32
      %step = arith.constant {} : i32
      %init = arith.constant {} : i32
      %last = scf.for %i = %first to %n step %step iter_args(%at = %init) -> i32 : i32 {{
        {}
        scf.yield %next : i32
      }}
      tt.return
    }})",
                               first, step, init, body));
  if (!program.module)
    return "does not parse";
  std::optional<RingNumber> number = ringNumberOf(program.find("it")->getResult(0));
  return number ? fmt::format("{} mod {}", number->offset, number->modulus) : "none";
}

const std::string ofCounter = R"(%next = arith.addi %at, %one : i32
                                 %it = arith.remsi %i, %three {test.name = "it"} : i32)";
const std::string around = R"(%more = arith.addi %at, %one : i32
                              %end = arith.cmpi eq, %more, %three : i32
                              %next = arith.select %end, %zero, %more {test.name = "it"} : i32)";

TEST(RingNumbers, OfTheCounter) {
  EXPECT_EQ(numberOf(ofCounter), "0 mod 3");
  EXPECT_EQ(numberOf(ofCounter, /*first=*/5), "2 mod 3");
  EXPECT_EQ(numberOf(ofCounter, /*first=*/-1), "none") << "a remainder may be negative";
  EXPECT_EQ(numberOf(ofCounter, 0, /*step=*/2), "none");
  EXPECT_EQ(numberOf(R"(%next = arith.addi %at, %one : i32
                        %ahead = arith.addi %two, %i : i32
                        %it = arith.remui %ahead, %three {test.name = "it"} : i32)"),
            "2 mod 3");
}

TEST(RingNumbers, OfWhatIsCarried) {
  EXPECT_EQ(numberOf(around, 0, 1, 2), "0 mod 3") << "one more than where it begins";
  EXPECT_EQ(numberOf(around, 7, 4, 0), "1 mod 3") << "whatever the counter does";
  EXPECT_EQ(numberOf(around, 0, 1, 3), "none") << "begins beyond the ring";
  EXPECT_EQ(numberOf(around, 0, 1, -1), "0 mod 3") << "the next number of -1 is 0";
  EXPECT_EQ(numberOf(around, 0, 1, -2), "none");
  EXPECT_EQ(numberOf(R"(%more = arith.addi %at, %one : i32
                        %next = arith.remsi %more, %three : i32
                        %it = arith.remsi %at, %three {test.name = "it"} : i32)",
                     0, 1, -1),
            "none")
      << "-1 itself is no number of a ring";
  EXPECT_EQ(numberOf(R"(%more = arith.addi %at, %one : i32
                        %less = arith.cmpi slt, %more, %three : i32
                        %next = arith.select %less, %more, %zero {test.name = "it"} : i32)"),
            "1 mod 3");
  EXPECT_EQ(numberOf(R"(%next = arith.addi %at, %one : i32
                        %it = arith.remsi %at, %two {test.name = "it"} : i32)",
                     0, 4, 3),
            "1 mod 2")
      << "a count beside the counter";
}

TEST(RingNumbers, OfPowersOfTwo) {
  EXPECT_EQ(numberOf(R"(%next = arith.addi %at, %one : i32
                        %it = arith.andi %i, %three {test.name = "it"} : i32)"),
            "0 mod 4");
  EXPECT_EQ(numberOf(R"(%next = arith.addi %at, %one : i32
                        %it = arith.andi %i, %two {test.name = "it"} : i32)"),
            "none")
      << "no bits from the lowest on";
  EXPECT_EQ(numberOf(R"(%more = arith.addi %at, %one : i32
                        %next = arith.andi %more, %three {test.name = "it"} : i32)",
                     0, 1, 3),
            "0 mod 4");
  EXPECT_EQ(numberOf(R"(%next = arith.addi %at, %one : i32
                        %half = arith.andi %i, %one : i32
                        %it = arith.xori %half, %one {test.name = "it"} : i32)"),
            "1 mod 2");
  EXPECT_EQ(numberOf(R"(%next = arith.subi %one, %at {test.name = "it"} : i32)", 0, 1, 1), "0 mod 2");
  EXPECT_EQ(numberOf(R"(%next = arith.xori %at, %one {test.name = "it"} : i32)"), "1 mod 2");
  EXPECT_EQ(numberOf(R"(%next = arith.subi %one, %at {test.name = "it"} : i32)", 0, 1, 2), "none");
  EXPECT_EQ(numberOf(R"(%next = arith.subi %one, %at {test.name = "it"} : i32)", 0, 1, -1), "none");
  EXPECT_EQ(numberOf(R"(%next = arith.xori %at, %one {test.name = "it"} : i32)", 0, 1, -1), "none");
  EXPECT_EQ(numberOf(R"(%next = arith.addi %at, %one : i32
                        %it = arith.subi %one, %i {test.name = "it"} : i32)"),
            "none")
      << "of the counter it is no number modulo 2";
  EXPECT_EQ(numberOf(R"(%next = arith.addi %at, %one : i32
                        %it = arith.xori %at, %one {test.name = "it"} : i32)"),
            "none");
}

TEST(RingNumbers, OfTheLast) {
  auto text = [](const char *compare, const char *values) {
    return std::string("%more = arith.addi %at, %one : i32\n %end = arith.cmpi ") + compare +
           ", %at, %two : i32\n %next = arith.select %end, " + values + " {test.name = \"it\"} : i32";
  };
  EXPECT_EQ(numberOf(text("eq", "%zero, %more")), "1 mod 3");
  EXPECT_EQ(numberOf(text("slt", "%more, %zero")), "1 mod 3");
  EXPECT_EQ(numberOf(text("eq", "%zero, %more"), 0, 1, 3), "none") << "begins beyond the ring";
  EXPECT_EQ(numberOf(text("eq", "%more, %zero")), "none");
}

TEST(RingNumbers, OfLargeSums) {
  auto text = [](const char *constant) {
    return std::string("%large = arith.constant ") + constant +
           " : i32\n %once = arith.addi %i, %large : i32\n %twice = arith.addi %once, %large : i32\n"
           " %next = arith.addi %at, %one : i32\n %it = arith.remsi %twice, %three {test.name = \"it\"} : i32";
  };
  EXPECT_EQ(numberOf(text("536870912")), "1 mod 3");
  EXPECT_EQ(numberOf(text("1073741824")), "none") << "2^31 is negative in 32 bits";
  EXPECT_EQ(numberOf(R"(%least = arith.constant -9223372036854775808 : i64
                        %wide = arith.extsi %i : i32 to i64
                        %sum = arith.addi %wide, %least : i64
                        %m = arith.constant 3 : i64
                        %next = arith.addi %at, %one : i32
                        %it = arith.remsi %sum, %m {test.name = "it"} : i64)"),
            "none")
      << "the lowest number has no magnitude";
}

TEST(RingNumbers, OfOthers) {
  EXPECT_EQ(numberOf(R"(%next = arith.addi %at, %two : i32
                        %it = arith.remsi %at, %three {test.name = "it"} : i32)"),
            "none");
  EXPECT_EQ(numberOf(R"(%next = arith.addi %at, %one : i32
                        %it = arith.remsi %any, %three {test.name = "it"} : i32)"),
            "none");
  EXPECT_EQ(numberOf(R"(%more = arith.addi %at, %one : i32
                        %end = arith.cmpi eq, %more, %three : i32
                        %next = arith.select %end, %one, %more {test.name = "it"} : i32)"),
            "none")
      << "begins again at 1";
  EXPECT_EQ(numberOf(R"(%more = arith.addi %at, %one : i32
                        %end = arith.cmpi eq, %more, %three : i32
                        %next = arith.select %end, %zero, %more : i32
                        %ahead = arith.addi %at, %one : i32
                        %it = arith.remsi %ahead, %two {test.name = "it"} : i32)"),
            "none")
      << "two rings of different sizes";
}

} // namespace
