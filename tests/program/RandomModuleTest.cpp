// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A little of the campaign that heddle-fuzz-modules runs at length.
#include "tests/program/RandomModule.h"
#include <gtest/gtest.h>

using namespace heddle::program::testing;

namespace {

TEST(RandomModules, AgreeWithTheEvaluator) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    RandomModule module = randomModule(seed);
    EXPECT_EQ(differenceOf(module), "") << textOf(module);
  }
}

TEST(RandomModules, ASeedIsAlwaysTheSameModule) {
  for (uint64_t seed : {0, 17, 59})
    EXPECT_EQ(textOf(randomModule(seed)), textOf(randomModule(seed)));
}

} // namespace
