// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// 300 cases of the campaign that heddle-fuzz-collectives runs at length, and whether it would find a fault.
#include "tests/multi_device/RandomCase.h"
#include <gtest/gtest.h>
#include <set>

using namespace heddle;
using namespace heddle::testing;

namespace {

TEST(RandomCases, AgreeWithTheReference) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomCase test = randomCase(seed);
    EXPECT_EQ(runCase(test), "") << describe(test);
  }
}

TEST(RandomCases, ASeedIsAlwaysTheSameCase) {
  for (uint64_t seed : {0, 17, 299})
    EXPECT_EQ(describe(randomCase(seed)), describe(randomCase(seed)));
}

TEST(RandomCases, ReachEveryAlgorithmTypeAndRankCount) {
  std::set<std::string> algorithms;
  std::set<ElementType> types;
  std::set<int> ranks;
  for (uint64_t seed = 0; seed < 10000; ++seed) {
    RandomCase test = randomCase(seed);
    algorithms.insert(test.options.algorithm);
    types.insert(test.collective.type);
    ranks.insert(test.collective.ranks);
  }
  EXPECT_EQ(algorithms.size(), allAlgorithms().size());
  EXPECT_EQ(types.size(), allElementTypes().size());
  EXPECT_EQ(ranks.size(), 8u);
}

} // namespace
