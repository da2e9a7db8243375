// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle-fuzz-gluon: random TTGIR programs, legal and not, until one is judged or computed wrongly.
#include "tests/campaign/Campaign.h"
#include "tests/gluon_programs/Runner.h"
#include <csignal>
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

using namespace heddle::gluon_programs;
using heddle::testing::Campaign;

namespace {

constexpr unsigned secondsOfProgram = 300; ///< far beyond what one takes on a busy machine
char current[96] = "";

/// A crash and a program that does not end name the seed.
void nameSeed(int signal) {
  (void)!::write(STDERR_FILENO, current, sizeof current);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

} // namespace

int main(int argc, char **argv) {
  Campaign campaign({"heddle-fuzz-gluon", "programs", ".ttgir", 100,
                     "  --no-reduce        do not shrink failing programs\n"
                     "  --pipelines        only programs with warp pipelines\n"});
  bool keepsWhole = false, onlyPipelines = false;
  campaign.app.add_flag("--no-reduce", keepsWhole);
  campaign.app.add_flag("--pipelines", onlyPipelines);
  for (int signal : {SIGALRM, SIGABRT, SIGSEGV, SIGFPE, SIGILL})
    std::signal(signal, nameSeed);
  Runner runner;
  Campaign::Actions actions;
  actions.describe = [](uint64_t seed) { return describe(programOf(seed)); };
  actions.run = [&](uint64_t seed) -> std::optional<Campaign::Failure> {
    if (onlyPipelines && !hasPipeline(seed))
      return std::nullopt;
    std::snprintf(current, sizeof current, "heddle-fuzz-gluon: the program of seed %llu crashed or did not end\n",
                  static_cast<unsigned long long>(seed));
    ::alarm(secondsOfProgram);
    std::string failure = runner.check(seed, !keepsWhole);
    ::alarm(0);
    if (failure.empty())
      return std::nullopt;
    std::string shown = fmt::format("{}\n// again: heddle-fuzz-gluon --seed {} --count 1", failure, seed);
    return Campaign::Failure{shown, {{".ttgir", actions.describe(seed)}, {".reduced.ttgir", failure}}};
  };
  int code = campaign.conduct(argc, argv, actions);
  if (runner.tally().programs)
    fmt::print(stderr, "{}\n", runner.summary());
  return code;
}
