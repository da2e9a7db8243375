// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each example kernel against the Triton kernel of the same name in tests/corpus: on the test device both give the same
// bits.
#include "examples/builder/Cases.h"
#include "examples/builder/Kernels.h"
#include "support/File.h"
#include "support/TestDevice.h"
#include "support/TestPaths.h"
#include "tests/executors/Executor.h"
#include <gtest/gtest.h>
#include <sstream>

using namespace heddle;
using namespace heddle::examples;

static std::vector<std::vector<uint8_t>> run(const std::string &text, const Case &example) {
  std::vector<reference::Argument> arguments;
  for (const Value &value : example.values)
    arguments.push_back({value.isBuffer, value.bits, value.bytes});
  reference::Grid grid{int32_t(example.grid[0]), int32_t(example.grid[1]), int32_t(example.grid[2])};
  executors::makeExecutor(testDevice())->run(text, grid, arguments);
  std::vector<std::vector<uint8_t>> results;
  for (reference::Argument &argument : arguments)
    results.push_back(std::move(argument.bytes));
  return results;
}

class ExampleKernels : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Targets, ExampleKernels, testing::Values("gfx942", "sm_90"),
                         [](const auto &info) { return info.param; });

TEST_P(ExampleKernels, builder_kernels_give_the_same_bits) {
  for (const Case &example : corpusCases()) {
    SCOPED_TRACE(example.program.name());
    std::string path = sourcePath("tests/corpus/" + example.program.name() + "." + GetParam() + ".ttir");
    auto ofTriton = run(readFile(path), example), ofBuilder = run(example.program.text(), example);
    EXPECT_LE(largestError(example, ofTriton), 1);
    EXPECT_TRUE(ofBuilder == ofTriton);
  }
}

TEST(Cases, a_wrong_result_is_noticed) {
  Case example = corpusCases().front();
  auto results = run(example.program.text(), example);
  EXPECT_EQ(largestError(example, results), 0);
  results[2][5] ^= 1;
  EXPECT_GT(largestError(example, results), 1);
}

// Wherever the sources lie, and however the compiler was told their paths.
TEST(Locations, are_paths_inside_the_checkout) {
  EXPECT_NE(vectorAdd().text().find("loc(\"examples/builder/VectorAdd.cpp\":"), std::string::npos);
}

TEST(Guide, shows_the_source_and_its_text) {
  std::string guide = readFile(sourcePath("docs/builder.md"));
  std::string source = readFile(sourcePath("examples/builder/VectorAdd.cpp"));
  EXPECT_NE(guide.find(source.substr(source.find("using namespace"))), std::string::npos);
  EXPECT_NE(guide.find(vectorAdd().text(false)), std::string::npos) << vectorAdd().text(false);
}

TEST(Guide, shows_a_kernel_with_layouts_and_its_text) {
  std::string guide = readFile(sourcePath("docs/builder.md"));
  std::string source = readFile(sourcePath("examples/builder/SharedTranspose.cpp"));
  EXPECT_NE(guide.find(source.substr(source.find("using namespace"))), std::string::npos);
  EXPECT_NE(guide.find(sharedTranspose().text(false)), std::string::npos) << sharedTranspose().text(false);
}

TEST(Guide, shows_the_loop_of_the_matmul_with_copies) {
  std::string page = readFile(sourcePath("docs/gfx9-code.md"));
  std::string source = readFile(sourcePath("examples/builder/MatmulAsync.cpp"));
  size_t begin = source.find("    auto copy = "), end = source.find("    asyncWait(0);");
  ASSERT_LT(begin, end);
  std::string shown = "```cpp\n"; // the page's lines begin four columns further left
  std::istringstream lines(source.substr(begin, end - begin));
  for (std::string line; std::getline(lines, line);)
    shown += (line.empty() ? line : line.substr(4)) + "\n";
  EXPECT_NE(page.find(shown + "```\n"), std::string::npos) << shown;
}
