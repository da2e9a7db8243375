// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The figures of this machine are plausible ones.
#include "support/SystemMemory.h"
#include <gtest/gtest.h>

using namespace heddle;

TEST(SystemMemory, FiguresAreThoseOfAMachine) {
  EXPECT_GT(physicalMemoryBytes(), uint64_t(64) << 20);
  EXPECT_LT(physicalMemoryBytes(), uint64_t(1) << 60);
  EXPECT_GT(availableMemoryBytes(), 0u);
}
