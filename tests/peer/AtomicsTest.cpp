// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each comparator, width, mask and form of a wait and a write, executed: unsigned, until it holds, bounded.
#include "support/TestError.h"
#include "tests/peer/Ranks.h"

using namespace heddle;
using namespace heddle::peertest;

namespace {

constexpr uint64_t outOffset = 1 << 17, limitNs = 2000000;

std::string replaced(std::string text, const std::vector<std::pair<std::string, std::string>> &values) {
  for (const auto &[name, value] : values)
    for (size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += value.size())
      text.replace(at, name.size(), value);
  return text;
}

// out[0] is what the wait gave, out[1] how long it took.
const char *const waitKernel = R"(
module {
  tt.func public @wait(%group: !tt.ptr<i64>, %word: !tt.ptr<WIDTH>, %out: !tt.ptr<i64>, %expected: WIDTH) {
    %zero = arith.constant 0 : i64
    %c1 = arith.constant 1 : i32
    %yes = arith.constant true
    %start = peer.clock : i64
    %deadline = peer.deadline %group : i64
    %loaded = peer.atomic_spin_wait acquire, sys, COMPARATOR, %word, %expected MASK within %deadline, %group : !tt.ptr<WIDTH>, WIDTH
    %end = peer.clock : i64
    %taken = arith.subi %end, %start : i64
    %wide = WIDEN
    tt.store %out, %wide : !tt.ptr<i64>
    %second = tt.addptr %out, %c1 : !tt.ptr<i64>, i32
    tt.store %second, %taken : !tt.ptr<i64>
    tt.return
  }
}
)";

bool holds(const std::string &comparator, uint64_t loaded, uint64_t expected) {
  if (comparator == "eq")
    return loaded == expected;
  if (comparator == "lt")
    return loaded < expected;
  if (comparator == "le")
    return loaded <= expected;
  if (comparator == "gt")
    return loaded > expected;
  if (comparator == "ge")
    return loaded >= expected;
  return loaded >> 32 == expected >> 32;
}

struct WaitCase {
  const char *comparator, *width;
  bool masked;
};

class Wait : public testing::TestWithParam<WaitCase> {};

TEST_P(Wait, EndsWhenTheComparisonHoldsOrTheTimeIsOver) {
  const WaitCase &param = GetParam();
  bool isWide = param.width == std::string("i64");
  // A wait whose comparison holds has an hour, so that one which overlooked it would be noticed.
  Ranks patient(1, 3600), hasty(1, limitNs / 1e9);
  std::string text =
      replaced(waitKernel, {{"MASK", param.masked ? ", %yes" : ""},
                            {"COMPARATOR", param.comparator},
                            {"WIDEN", isWide ? "arith.addi %loaded, %zero : i64" : "arith.extui %loaded : i32 to i64"},
                            {"WIDTH", param.width}});
  patient.load(text);
  hasty.load(text);
  uint64_t ones = isWide ? ~uint64_t(0) : 0xffffffff;
  std::vector<uint64_t> numbers = {0, 1, ones >> 1, (ones >> 1) + 1, ones};
  if (isWide)
    numbers.insert(numbers.end(), {uint64_t(7) << 32 | 5, uint64_t(7) << 32 | 6});
  for (uint64_t loaded : numbers)
    for (uint64_t expected : numbers) {
      bool isTrue = holds(param.comparator, loaded, expected);
      Ranks &ranks = isTrue ? patient : hasty;
      ranks.arena(0)[0] = loaded;
      ranks.start(0, 1, {ranks.at(0, 0), ranks.at(0, outOffset), ScalarBits{expected}});
      ranks.finish(0);
      EXPECT_EQ(ranks.arena(0)[outOffset / 8], loaded);
      if (!isTrue)
        EXPECT_GE(ranks.arena(0)[outOffset / 8 + 1], limitNs)
            << loaded << " " << param.comparator << " " << expected << " holds";
    }
}

INSTANTIATE_TEST_SUITE_P(
    Comparators, Wait,
    testing::Values(WaitCase{"eq", "i32", false}, WaitCase{"lt", "i32", true}, WaitCase{"le", "i32", false},
                    WaitCase{"gt", "i32", true}, WaitCase{"ge", "i32", false}, WaitCase{"eq", "i64", true},
                    WaitCase{"lt", "i64", false}, WaitCase{"le", "i64", true}, WaitCase{"gt", "i64", false},
                    WaitCase{"ge", "i64", true}, WaitCase{"hi", "i64", false}),
    [](const auto &info) {
      return std::string(info.param.comparator) + info.param.width + (info.param.masked ? "masked" : "");
    });

// Tiles and scalars, masked and not, in one kernel, both results and memory.
const char *const formsKernel = R"(
module {
  tt.func public @forms(%group: !tt.ptr<i64>, %words: !tt.ptr<i32>, %out: !tt.ptr<i32>, %no: i1) {
    %c16 = arith.constant 16 : i32
    %c17 = arith.constant 17 : i32
    %c99 = arith.constant 99 : i32
    %limit = arith.constant dense<11> : tensor<16xi32>
    %deadline = peer.deadline %group : i64
    %lane = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
    %mask = arith.cmpi ult, %lane, %limit : tensor<16xi32>
    %bases = tt.splat %words : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
    %places = tt.addptr %bases, %lane : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
    %scalar = tt.addptr %words, %c16 : !tt.ptr<i32>, i32
    %other = tt.addptr %words, %c17 : !tt.ptr<i32>, i32
    peer.atomic_write release, sys, %places, %c99 : tensor<16x!tt.ptr<i32>>, i32
    peer.atomic_write relaxed, gpu, %places, %lane, %mask : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
    peer.atomic_write release, cta, %scalar, %c17 : !tt.ptr<i32>, i32
    peer.atomic_write release, sys, %other, %c17, %no : !tt.ptr<i32>, i32
    %all = peer.atomic_spin_wait relaxed, cta, ge, %places, %lane within %deadline, %group : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
    %some = peer.atomic_spin_wait acquire, gpu, eq, %places, %lane, %mask within %deadline, %group : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
    %nothing = peer.atomic_spin_wait acquire, sys, eq, %other, %c17, %no within %deadline, %group : !tt.ptr<i32>, i32
    %outs = tt.splat %out : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
    %first = tt.addptr %outs, %lane : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
    tt.store %first, %all : tensor<16x!tt.ptr<i32>>
    %shift = tt.splat %c16 : i32 -> tensor<16xi32>
    %second = tt.addptr %first, %shift : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
    tt.store %second, %some : tensor<16x!tt.ptr<i32>>
    %c32 = arith.constant 32 : i32
    %third = tt.addptr %out, %c32 : !tt.ptr<i32>, i32
    tt.store %third, %nothing : !tt.ptr<i32>
    tt.return
  }
}
)";

class Forms : public testing::TestWithParam<bool> {};

TEST_P(Forms, TilesScalarsAndMasks) {
  Ranks ranks(1);
  ranks.load(formsKernel, /*checked=*/GetParam());
  ranks.start(0, 1, {ranks.at(0, 0), ranks.at(0, outOffset), ScalarBits{0}});
  ranks.finish(0);
  const uint32_t *words = reinterpret_cast<uint32_t *>(ranks.arena(0));
  const uint32_t *out = reinterpret_cast<uint32_t *>(ranks.arena(0) + outOffset / 8);
  for (uint32_t lane = 0; lane < 16; ++lane) {
    EXPECT_EQ(words[lane], lane < 11 ? lane : 99);
    EXPECT_EQ(out[lane], lane < 11 ? lane : 99);
    EXPECT_EQ(out[16 + lane], lane < 11 ? lane : 0);
  }
  EXPECT_EQ(words[16], 17u);
  EXPECT_EQ(words[17], 0u);
  EXPECT_EQ(out[32], 0u);
}

INSTANTIATE_TEST_SUITE_P(BoundsChecks, Forms, testing::Bool());

TEST(Bounds, AnAtomicOutsideOfEveryBufferIsReported) {
  Ranks ranks(1);
  ranks.load(formsKernel, /*checked=*/true);
  ranks.start(0, 1, {DeviceAddress(uint64_t(64)), ranks.at(0, outOffset), ScalarBits{0}});
  EXPECT_CONTAINS(messageOf([&] { ranks.finish(0); }), "tt.extern_elementwise");
}

} // namespace
