// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Words that need quotes, and words that do not.
#include "support/ShellWord.h"
#include <gtest/gtest.h>

TEST(ShellWord, IsQuotedWhereAShellNeedsIt) {
  EXPECT_EQ(heddle::quoteForShell("x=f32[4]"), "'x=f32[4]'");
  EXPECT_EQ(heddle::quoteForShell("--arg"), "--arg");
  EXPECT_EQ(heddle::quoteForShell(""), "''");
  EXPECT_EQ(heddle::quoteForShell("it's"), "'it'\\''s'");
}
