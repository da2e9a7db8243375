// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Some of the programs that heddle-fuzz-gluon runs at length, and whether they are what they are said to be.
#include "tests/gluon_programs/Rules.h"
#include "tests/gluon_programs/Runner.h"
#include <gtest/gtest.h>

using namespace heddle::gluon_programs;

namespace {

TEST(GluonPrograms, AreRefusedByTheirRuleOrGiveTheExpectedBits) {
  Runner runner;
  for (uint64_t seed = 0; seed < 100; ++seed)
    EXPECT_EQ(runner.check(seed), "");
  EXPECT_GE(runner.tally().accepted, 60);
  EXPECT_GE(runner.tally().refused.size(), 10u);
}

TEST(GluonPrograms, WarpPipelinesAreRefusedOrGiveTheBitsOfTheirStagesInOrder) {
  Runner runner;
  for (uint64_t seed = 1000; runner.tally().programs < 40; ++seed)
    if (hasPipeline(seed))
      EXPECT_EQ(runner.check(seed), "");
  EXPECT_GE(runner.tally().pipelined, 15);
  for (const char *rule : {"W2", "W4", "W7", "K9"})
    EXPECT_GE(runner.tally().refused.count(rule), 1u) << rule;
}

TEST(GluonPrograms, ASeedIsAlwaysTheSameProgram) {
  for (uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_EQ(programOf(seed).text, programOf(seed).text);
}

TEST(GluonPrograms, AWrongResultAndAWrongVerdictAreFound) {
  Runner runner;
  uint64_t legal = 0;
  while (!programOf(legal).expectation.fault.empty())
    ++legal;
  GluonProgram program = programOf(legal);
  ASSERT_EQ(runner.judge(program), "");
  GluonProgram refused = program;
  refused.expectation.refusal = "V9";
  EXPECT_NE(runner.judge(refused), "");
  GluonProgram silent = program;
  silent.expectation.warned.push_back("rule C9");
  EXPECT_NE(runner.judge(silent), "");
  program.expected.back().bytes.assign(program.expected.back().bytes.size(), 0x5a);
  EXPECT_NE(runner.judge(program), "");
}

TEST(GluonPrograms, MessagesHaveRules) {
  EXPECT_EQ(ruleOf("program:3:4: 'ttg.local_store' writes to an immutable memory object"), "V9");
  EXPECT_EQ(ruleOf("program:3:4: waits in stage 's0': it stands between two stages (rule W2)"), "W2");
  EXPECT_EQ(ruleOf("an error that no rule has"), "");
}

} // namespace
