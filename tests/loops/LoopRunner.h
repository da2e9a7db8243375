// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs random loops on simulated gfx942 and gfx950, compiled for every number of stages, against the evaluator.
#pragma once
#include "tests/fuzz/Compare.h"
#include "tests/loops/RandomLoop.h"
#include <map>
#include <tuple>

namespace heddle::loops {

/// How many programs have tiles that are prefetched in each way, on one of the chips with some number of stages.
struct LoopTally {
  int programs = 0, copied = 0, held = 0;
  int64_t kernels = 0; ///< that were run
};

class LoopRunner {
public:
  /// The simulator checks everything, under a random policy and schedule, unless the environment has its own words.
  LoopRunner();

  /// The first difference, as text, and the program; reduced where that is wanted. Empty when all is well.
  std::string check(uint64_t seed, bool reduces = false);
  const LoopTally &tally() const { return counts; }

private:
  fuzz::Executor &executorOf(const std::string &chip, int warps, int stages);

  std::map<std::tuple<std::string, int, int>, std::unique_ptr<fuzz::Executor>> executors;
  bool choosesSeed = false; ///< of the simulator
  LoopTally counts;
};

/// The program of `loop`, or a smaller one, as a file.
std::string describe(const RandomLoop &loop, const fuzz::FuzzProgram &program);

} // namespace heddle::loops
