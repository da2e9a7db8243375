// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each example kernel against the Triton kernel of the same name in tests/corpus: on the host both give the same bits.
#include "examples/builder/Cases.h"
#include "support/File.h"
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::examples;

class Corpus : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Targets, Corpus, testing::Values("gfx942", "sm_90"),
                         [](const auto &info) { return info.param; });

TEST_P(Corpus, builder_kernels_give_the_same_bits) {
  for (const Case &example : allCases()) {
    SCOPED_TRACE(example.program.name());
    std::string path = HEDDLE_SOURCE_DIR "/tests/corpus/" + example.program.name() + "." + GetParam() + ".ttir";
    auto ofTriton = runOnHost(readFile(path), example), ofBuilder = runOnHost(example.program.text(), example);
    EXPECT_LE(largestError(example, ofTriton), 1);
    EXPECT_TRUE(ofBuilder == ofTriton);
  }
}

TEST(Cases, a_wrong_result_is_noticed) {
  Case example = allCases().front();
  auto results = runOnHost(example.program.text(), example);
  EXPECT_EQ(largestError(example, results), 0);
  results[2][5] ^= 1;
  EXPECT_GT(largestError(example, results), 1);
}
