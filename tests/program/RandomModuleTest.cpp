// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A little of the campaign that heddle-fuzz-modules runs at length.
#include "tests/program/RandomModule.h"
#include "tests/multi_device/TestDevices.h"
#include <gtest/gtest.h>

using namespace heddle::program::testing;

namespace {

TEST(RandomModules, AgreeWithTheEvaluator) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    RandomModule module = randomModule(seed);
    EXPECT_EQ(differenceOf(module), "") << textOf(module);
  }
}

TEST(RandomModules, AnOperationMistakenForAnotherIsFound) {
  int tried = 0, found = 0;
  for (uint64_t seed = 100; tried < 8 && seed < 1000; ++seed) {
    RandomModule module = randomModule(seed);
    std::string text = textOf(module), wrong = text;
    for (size_t at; (at = wrong.find(" maximum(")) != std::string::npos;)
      wrong.replace(at, 9, " minimum(");
    if (wrong == text || !heddle::testing::hasDevices(int(module.replicas * module.partitions)))
      continue;
    ++tried;
    found += differenceOf(module, wrong).empty() ? 0 : 1;
  }
  EXPECT_GE(found, 2); // elsewhere it is in code whose result nothing reads, or compares equal values
}

TEST(RandomModules, ASeedIsAlwaysTheSameModule) {
  for (uint64_t seed : {0, 17, 59})
    EXPECT_EQ(textOf(randomModule(seed)), textOf(randomModule(seed)));
}

} // namespace
