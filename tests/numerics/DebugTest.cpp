// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a kernel says and how it ends: tt.print, tt.assert, early returns, accesses out of bounds.
#include "runtime/Print.h"
#include "tests/numerics/Support.h"

using namespace heddle::numerics;
using namespace heddle::reference;

class Debug : public testing::TestWithParam<std::string> {
protected:
  std::vector<Argument> run(const std::string &parameters, const std::string &body, std::vector<Argument> arguments,
                            Grid grid = {}) {
    makeExecutor(GetParam())->run(kernelText(parameters, body), grid, arguments);
    return arguments;
  }
};
INSTANTIATE_TEST_SUITE_P(Executors, Debug, testing::ValuesIn(executorsUnderTest()),
                         [](const auto &info) { return testNameOf(info.param); });

static bool isGpu(const std::string &executor) {
  return !executor.starts_with("host");
}

TEST_P(Debug, print_writes_a_line_for_each_element) {
  if (isGpu(GetParam()))
    GTEST_SKIP() << "kernels on GPUs do not print";
  std::vector<std::string> lines;
  auto before = heddle::setPrintSink([&](const std::string &line) { lines.push_back(line); });
  run("%x: i32", R"(
  %i = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
  %xs = tt.splat %x : i32 -> tensor<4xi32>
  %s = arith.addi %i, %xs : tensor<4xi32>
  %t = tt.reshape %s : tensor<4xi32> -> tensor<2x2xi32>
  %f = arith.sitofp %x : i32 to f32
  tt.print " t: " {hex = false, isSigned = array<i32: 1>} : %t : tensor<2x2xi32>
  tt.print " f: " {hex = false, isSigned = array<i32: 1>} : %f : f32
  tt.print "here" {hex = false, isSigned = array<i32>})",
      {scalarI32(-2)});
  heddle::setPrintSink(std::move(before));
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_NE(lines[0].find("pid (0, 0, 0) idx (0, 0)"), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("-2"), std::string::npos) << lines[0];
  EXPECT_NE(lines[3].find("idx (1, 1)"), std::string::npos) << lines[3];
  EXPECT_NE(lines[3].find("1"), std::string::npos) << lines[3];
  EXPECT_NE(lines[5].find("here"), std::string::npos) << lines[5];
}

TEST_P(Debug, a_failed_assert_names_text_instance_and_element) {
  std::string message = errorOf([&] {
    run("%n: i32", R"(
  %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %ns = tt.splat %n : i32 -> tensor<64xi32>
  %c = arith.cmpi slt, %i, %ns : tensor<64xi32>
  tt.assert %c, "index below n" : tensor<64xi1>)",
        {scalarI32(37)});
  });
  if (isGpu(GetParam())) // a trap; which element it was is not known
    EXPECT_NE(message, "");
  else
    EXPECT_NE(message.find("assertion failed: index below n"), std::string::npos) << message;
}

TEST_P(Debug, a_true_assert_says_nothing) {
  run("%n: i32", R"(
  %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %ns = tt.splat %n : i32 -> tensor<64xi32>
  %c = arith.cmpi slt, %i, %ns : tensor<64xi32>
  tt.assert %c, "index below n" : tensor<64xi1>)",
      {scalarI32(64)});
}

TEST_P(Debug, instances_return_early) {
  auto result = run("%o: !tt.ptr<i32>, %n: i32", R"(
  %pid = tt.get_program_id x : i32
  %c7 = arith.constant 7 : i32
  %c9 = arith.constant 9 : i32
  %done = arith.cmpi sge, %pid, %n : i32
  cf.cond_br %done, ^bb1, ^bb2
^bb1:
  tt.return
^bb2:
  %p = tt.addptr %o, %pid : !tt.ptr<i32>, i32
  tt.store %p, %c7 : !tt.ptr<i32>
  %even0 = arith.remsi %pid, %c7 : i32
  %c0 = arith.constant 0 : i32
  %even = arith.cmpi eq, %even0, %c0 : i32
  cf.cond_br %even, ^bb3, ^bb4
^bb3:
  tt.store %p, %c9 : !tt.ptr<i32>
  cf.br ^bb4
^bb4:)",
                    {zeros<int32_t>(50), scalarI32(30)}, {50});
  std::vector<int32_t> expected(50);
  for (int i = 0; i < 30; ++i)
    expected[i] = i % 7 ? 7 : 9;
  EXPECT_EQ(valuesOf<int32_t>(result[0]), expected);
}

TEST(BoundsChecks, a_read_past_the_end_is_named) {
  std::vector<Argument> arguments{zeros<float>(100), zeros<float>(128)};
  std::string message = errorOf([&] {
    makeExecutor("host_checked")
        ->run(kernelText("%x: !tt.ptr<f32>, %o: !tt.ptr<f32>", R"(
  %i = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
  %os = tt.splat %o : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %i : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
  %op = tt.addptr %os, %i : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
  %v = tt.load %xp : tensor<128x!tt.ptr<f32>>
  tt.store %op, %v : tensor<128x!tt.ptr<f32>>)"),
              {}, arguments);
  });
  EXPECT_NE(message.find("index 100 of 100"), std::string::npos) << message;
}
