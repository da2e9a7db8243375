// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle-fuzz-collectives: random collectives on host devices and on the plain reference, until they differ.
#include "tests/campaign/Campaign.h"
#include "tests/multi_device/RandomCase.h"

using namespace heddle::testing;

int main(int argc, char **argv) {
  Campaign campaign({"heddle-fuzz-collectives", "cases", ".txt", 300});
  Campaign::Actions actions;
  actions.describe = [](uint64_t seed) { return describe(randomCase(seed)); };
  actions.run = [](uint64_t seed) -> std::optional<Campaign::Failure> {
    RandomCase test = randomCase(seed);
    std::string difference = runCase(test);
    if (difference.empty())
      return std::nullopt;
    std::string text = describe(test) + "\n  " + difference;
    return Campaign::Failure{text, {{".txt", text}}};
  };
  return campaign.conduct(argc, argv, actions);
}
