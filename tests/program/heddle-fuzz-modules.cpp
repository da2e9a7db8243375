// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle-fuzz-modules: random HLO modules on host devices and on the plain evaluator, until they differ.
#include "tests/campaign/Campaign.h"
#include "tests/program/RandomModule.h"

using namespace heddle::program::testing;
using heddle::testing::Campaign;

int main(int argc, char **argv) {
  Campaign campaign({"heddle-fuzz-modules", "modules", ".hlo", 100});
  Campaign::Actions actions;
  actions.describe = [](uint64_t seed) { return textOf(randomModule(seed)); };
  actions.run = [](uint64_t seed) -> std::optional<Campaign::Failure> {
    RandomModule module = randomModule(seed);
    std::string difference = differenceOf(module);
    if (difference.empty())
      return std::nullopt;
    RandomModule small = shrink(module);
    std::string text = "// " + differenceOf(small) + "\n" + textOf(small);
    return Campaign::Failure{"seed " + std::to_string(seed) + ": " + difference + "\n" + text,
                             {{".hlo", "// " + difference + "\n" + textOf(module)}, {".small.hlo", text}}};
  };
  return campaign.conduct(argc, argv, actions);
}
