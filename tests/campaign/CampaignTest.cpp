// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a campaign does with a failing case, and with a wrong command line.
#include "tests/campaign/Campaign.h"
#include "support/Error.h"
#include "support/File.h"
#include <filesystem>
#include <gtest/gtest.h>

using namespace heddle;
using heddle::testing::Campaign;

namespace {

/// Seeds 2 and 4 fail. The exit code; `ran` gets the seeds.
int run(std::vector<std::string> words, std::vector<uint64_t> &ran) {
  Campaign campaign({"campaign", "cases", ".txt", 6});
  Campaign::Actions actions;
  actions.describe = [](uint64_t seed) { return "case " + std::to_string(seed); };
  actions.run = [&](uint64_t seed) -> std::optional<Campaign::Failure> {
    ran.push_back(seed);
    if (seed != 2 && seed != 4)
      return std::nullopt;
    return Campaign::Failure{"shown", {{".whole.txt", "whole"}}};
  };
  words.insert(words.begin(), "campaign");
  std::vector<char *> pointers;
  for (std::string &word : words)
    pointers.push_back(word.data());
  return campaign.conduct(int(pointers.size()), pointers.data(), actions);
}

TEST(Campaign, FailingCasesBecomeFiles) {
  std::string folder = ::testing::TempDir() + "/heddle-campaign";
  std::filesystem::remove_all(folder);
  std::vector<uint64_t> ran;
  EXPECT_EQ(run({"--dump", folder}, ran), int(ErrorClass::WrongResult));
  EXPECT_EQ(ran, (std::vector<uint64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(readFile(folder + "/seed2.whole.txt"), "whole\n");
  EXPECT_TRUE(std::filesystem::exists(folder + "/seed4.whole.txt"));
  EXPECT_EQ(readFile(folder + "/current.txt"), "case 5\n");
  std::filesystem::remove_all(folder);
}

TEST(Campaign, ItsOptions) {
  std::vector<uint64_t> ran;
  EXPECT_EQ(run({"--stop-on-first"}, ran), 1);
  EXPECT_EQ(ran.size(), 3u);
  ran.clear();
  EXPECT_EQ(run({"--seed", "7", "--count", "2"}, ran), 0);
  EXPECT_EQ(ran, (std::vector<uint64_t>{7, 8}));
  ran.clear();
  EXPECT_EQ(run({"--seed", "2", "--print"}, ran), 0);
  EXPECT_TRUE(ran.empty());
  for (std::vector<std::string> wrong : {std::vector<std::string>{"--nope"}, {"--seed", "x"}, {"--count"}})
    EXPECT_EQ(run(wrong, ran), int(ErrorClass::Input));
}

} // namespace
