// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs this program again with other filters.
#include "support/TestError.h"
#include <cstdio>
#include <gtest/gtest.h>
#include <sys/wait.h>

namespace {

struct Ending {
  int code;
  std::string text; ///< of both outputs
};

Ending runAgain(const std::string &options) {
  std::FILE *program = popen(("exec /proc/" + std::to_string(getpid()) + "/exe " + options + " 2>&1").c_str(), "r");
  std::string text;
  for (int c; (c = std::fgetc(program)) != EOF;)
    text += char(c);
  return {WEXITSTATUS(pclose(program)), text};
}

TEST(TestMain, AFilterThatSelectsNoTestIsAFailure) {
  Ending ending = runAgain("--gtest_filter=TestMain.*Misspelt");
  EXPECT_EQ(ending.code, 1);
  EXPECT_CONTAINS(ending.text, "error: no test is selected: `--gtest_filter=TestMain.*Misspelt` leaves none of ");
}

TEST(TestMain, OneThatSelectsATestIsNone) {
  EXPECT_EQ(runAgain("--gtest_filter=TestMain.HasNothingToDo").code, 0);
  EXPECT_EQ(runAgain("--gtest_list_tests --gtest_filter=TestMain.*Misspelt").code, 0);
}

TEST(TestMain, HasNothingToDo) {}

} // namespace
