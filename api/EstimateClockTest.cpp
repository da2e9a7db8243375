// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The simulator's estimate as a clock: it is exact, and sees what is wrong.
#include "api/EstimateClock.h"
#include "autotune/FaultyKernel.h"
#include "autotune/Search.h"
#include <gtest/gtest.h>

namespace heddle::autotune {
namespace {

std::string failureOf(EstimateClock &clock, size_t candidate) {
  try {
    clock.prepare(candidate);
  } catch (const CandidateFailure &failure) {
    return failure.kind + ": " + failure.what();
  }
  return "";
}

TEST(EstimateClock, estimates_and_compares) {
  CallRequest request{
      .chip = &gfx950Chip, .inputs = arraysOfShape(seven, {{"N", 1000}}, ElementType::F32), .options = {}};
  Space space = makeSpace(seven, request);
  std::vector<std::string> names = space.names();
  auto number = [&](const std::string &name) {
    return size_t(std::find(names.begin(), names.end(), name) - names.begin());
  };
  EstimateClock clock(gfx950Chip, seven, space, {}, {.threads = 2});
  EXPECT_TRUE(clock.isExact());
  clock.prepare(0);
  size_t one = number("fault=0,repeats=1");
  clock.prepare(one);
  double time = clock.measure(one);
  EXPECT_GT(time, 0);
  EXPECT_NEAR(clock.measure(0) / time, 40, 1); // as many launches
  clock.prepare(one);
  EXPECT_EQ(clock.measure(one), time);
  EXPECT_EQ(failureOf(clock, number("fault=1,repeats=1")),
            "wrong: 1000 elements of `out` are not those of the default; out[0] is 8, and the default has 7");
  EXPECT_TRUE(failureOf(clock, number("fault=2,repeats=1")).starts_with("time: "));
  EXPECT_TRUE(failureOf(clock, number("fault=3,repeats=1")).starts_with("compile: "));
}

} // namespace
} // namespace heddle::autotune
