// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a check and a mutation do when they are cancelled, and in which order they do things: what no command line shows
// at the same place every time.
#include "api/Mutate.h"
#include "support/File.h"
#include "support/TestPaths.h"
#include <gtest/gtest.h>

namespace heddle {
namespace {

/// A kernel with barriers, so that each run is asked several times whether it is to end.
class Cancelling : public testing::Test {
protected:
  Cancelling() {
    request.check.run.kernel = "scan";
    request.check.run.block = {512, 1, 1};
    request.check.run.arguments = {{"x", "rand:i64[512]:1"}, {"out", "i64[512]"}};
    request.check.run.checks = "default";
    request.check.schedules = 1;
    request.check.threads = 1;
    request.check.progress = [this](size_t done, size_t all) {
      ++steps;
      asked = 0;
      if (done == all && runs == 0)
        runs = steps;
    };
  }
  /// Cancels once it was asked more than so many times since the last step: in the first run or mutant
  /// that is asked so often.
  void cancelAfter(unsigned asks, bool onlyMutants) {
    request.check.isCancelled = [this, asks, onlyMutants] {
      if (onlyMutants && runs == 0)
        return false;
      if (!isCancelled && ++asked > asks) {
        isCancelled = true;
        cancelledIn = onlyMutants ? steps - runs : steps;
      }
      return isCancelled;
    };
  }
  MutateResult mutate() { return mutateKernel(readFile(path), path, request); }

  const std::string path = buildPath("test/simulator/kernels-gfx942-O3.hsaco");
  MutateRequest request;
  size_t steps = 0, runs = 0; ///< runs and mutants that are over; runs of the kernel itself, when all are over
  size_t cancelledIn = 0;     ///< the run or mutant that was running
  unsigned asked = 0;
  bool isCancelled = false;
};

TEST_F(Cancelling, EndsTheMutantThatIsUnderWay) {
  cancelAfter(1, true); // it is asked before a mutant, and while one runs
  request.equivalents = {{.kind = "", .pc = {}, .text = "s_barrier", .reason = "no reason", .origin = "why.txt:1"}};
  MutateResult result = mutate();
  ASSERT_TRUE(isCancelled);
  EXPECT_TRUE(result.good.isClean());
  for (size_t i = 0; i < result.mutants.size(); ++i)
    EXPECT_EQ(result.mutants[i].fate == Mutant::Fate::NotRun, i >= cancelledIn) << i;
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_EQ(result.notes[0], "why.txt:1: what it explains did not run");
}

TEST_F(Cancelling, EndsTheRunThatIsUnderWay) {
  cancelAfter(2, false); // it is asked twice before the first run
  CheckResult result = checkKernel(readFile(path), path, request.check);
  ASSERT_TRUE(isCancelled);
  EXPECT_EQ(result.ended, cancelledIn);
  EXPECT_TRUE(result.findings.empty());
  ASSERT_EQ(result.reasons.size(), 1u);
  EXPECT_EQ(result.reasons[0].substr(result.reasons[0].find("runs")), "runs did not end before they were cancelled");
}

TEST_F(Cancelling, AnExplanationThatFitsNothingIsRefusedBeforeAnyMutantRuns) {
  request.equivalents = {{.kind = "", .pc = {}, .text = "s_barier", .reason = "no reason", .origin = "why.txt:3"}};
  try {
    mutate();
    FAIL() << "it is refused";
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, ErrorClass::Input);
    EXPECT_STREQ(error.what(), "why.txt:3: no instruction that ran is `s_barier`");
    ASSERT_FALSE(error.notes.empty());
    EXPECT_EQ(error.notes[0], "the closest is `s_barrier`");
  }
  EXPECT_GT(runs, 0u);
  EXPECT_EQ(steps, runs);
}

} // namespace
} // namespace heddle
