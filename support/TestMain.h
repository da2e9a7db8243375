// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What every GoogleTest program ends with: a filter that selects no test would otherwise pass as if all were well.
#pragma once
#include <cstdio>
#include <gtest/gtest.h>

namespace heddle {

/// After InitGoogleTest: RUN_ALL_TESTS, and 1 with a message when no test was selected.
inline int runSelectedTests() {
  int status = RUN_ALL_TESTS();
  const testing::UnitTest &tests = *testing::UnitTest::GetInstance();
  if (testing::GTEST_FLAG(list_tests) || tests.test_to_run_count() > 0)
    return status;
  std::fprintf(stderr, "error: no test is selected: `--gtest_filter=%s` leaves none of %d tests to run\n",
               testing::GTEST_FLAG(filter).c_str(), tests.total_test_count());
  return 1;
}

} // namespace heddle
