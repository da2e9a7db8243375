// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Slips that are found, and words that are too far away.
#include "support/Suggest.h"
#include <gtest/gtest.h>

using namespace heddle;

TEST(Suggest, SlipsOfAFinger) {
  std::vector<std::string> known = {"compile", "run", "inspect"};
  EXPECT_EQ(closestName("rnu", known), "run");
  EXPECT_EQ(closestName("complie", known), "compile");
  EXPECT_EQ(closestName("inspct", known), "inspect");
  EXPECT_EQ(closestName("u8", {"i8", "ui8", "ui16"}), "ui8");
  EXPECT_EQ(closestName("explain", known), "");
  EXPECT_EQ(closestName("xyz", known), "");
  EXPECT_EQ(closestName("", known), "");
  EXPECT_EQ(closestName(std::string(100000, 'x'), known), "");
}
