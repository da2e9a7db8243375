// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle-fuzz-loops: random loops over matmuls, with every number of stages, until one differs from the evaluator.
#include "tests/campaign/Campaign.h"
#include "tests/loops/LoopRunner.h"
#include <fmt/format.h>

using namespace heddle::loops;
using heddle::testing::Campaign;

int main(int argc, char **argv) {
  Campaign campaign({"heddle-fuzz-loops", "loops", ".ttir", 100, "  --no-reduce        do not shrink failing loops\n"});
  bool keepsWhole = false;
  campaign.app.add_flag("--no-reduce", keepsWhole);
  LoopRunner runner;
  Campaign::Actions actions;
  actions.describe = [](uint64_t seed) {
    RandomLoop loop = randomLoop(seed);
    return describe(loop, programOf(loop));
  };
  actions.run = [&](uint64_t seed) -> std::optional<Campaign::Failure> {
    std::string difference = runner.check(seed, !keepsWhole);
    if (difference.empty())
      return std::nullopt;
    return Campaign::Failure{difference, {{".ttir", actions.describe(seed)}, {".reduced.ttir", difference}}};
  };
  int code = campaign.conduct(argc, argv, actions);
  if (const LoopTally &tally = runner.tally(); tally.programs)
    fmt::print(stderr, "{} kernels; {} of {} loops copied straight to LDS, {} loaded to registers\n", tally.kernels,
               tally.copied, tally.programs, tally.held);
  return code;
}
