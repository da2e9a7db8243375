// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Some of the loops that heddle-fuzz-loops runs at length, and whether they are loops that the compiler pipelines.
#include "tests/loops/LoopRunner.h"
#include <gtest/gtest.h>

using namespace heddle::loops;

namespace {

TEST(RandomLoops, GiveTheSameBitsWithEveryNumberOfStages) {
  LoopRunner runner;
  for (uint64_t seed = 0; seed < 40; ++seed)
    EXPECT_EQ(runner.check(seed), "");
  EXPECT_GE(runner.tally().copied * 4, runner.tally().programs);
  EXPECT_GE(runner.tally().held * 2, runner.tally().programs);
}

TEST(RandomLoops, ASeedIsAlwaysTheSameProgram) {
  for (uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_EQ(programOf(randomLoop(seed)).text, programOf(randomLoop(seed)).text);
}

} // namespace
