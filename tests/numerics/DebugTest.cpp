// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a kernel says and how it ends: tt.print, tt.assert, early returns, accesses out of bounds.
#include "chips/Chip.h"
#include "compiler/pipeline/Compile.h"
#include "runtime/Driver.h"
#include "runtime/Graph.h"
#include "runtime/Launch.h"
#include "runtime/Print.h"
#include "runtime/Stream.h"
#include "support/Error.h"
#include "tests/numerics/Support.h"
#include <fmt/format.h>
#include <map>

using namespace heddle::numerics;
using namespace heddle::reference;
using heddle::testDevice;

using Lines = std::vector<std::string>;

class Debug : public testing::TestWithParam<std::string> {
protected:
  Debug() {
    before = heddle::setPrintSink([this](const std::string &line) { lines.push_back(line); });
  }
  ~Debug() override { heddle::setPrintSink(std::move(before)); }

  std::vector<Argument> run(const std::string &parameters, const std::string &body, std::vector<Argument> arguments,
                            Grid grid = {}) {
    executor->run(kernelText(parameters, body), grid, arguments);
    return arguments;
  }
  /// The error's message and notes; empty when there was none.
  std::string failureOf(const std::string &parameters, const std::string &body, std::vector<Argument> arguments,
                        Grid grid = {}) {
    try {
      run(parameters, body, std::move(arguments), grid);
    } catch (const heddle::Error &error) {
      std::string text = error.what();
      for (const std::string &note : error.notes)
        text += "; " + note;
      return text;
    }
    return "";
  }
  /// The lines of each program, in the order in which they came.
  std::map<std::string, Lines> linesByProgram() const {
    std::map<std::string, Lines> result;
    for (const std::string &line : lines)
      result[line.substr(0, line.find(')') + 1)].push_back(line);
    return result;
  }

  std::unique_ptr<Executor> executor = makeExecutor(GetParam());
  Lines lines;
  heddle::PrintSink before;
};
INSTANTIATE_TEST_SUITE_P(Executors, Debug, testing::ValuesIn(executorsUnderTest()),
                         [](const auto &info) { return testNameOf(info.param); });

static bool isGpu(const std::string &executor) {
  return !executor.starts_with("host");
}

TEST_P(Debug, print_writes_a_line_for_each_element) {
  run("%x: i32, %p: !tt.ptr<i32>", R"(
  %i = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
  %xs = tt.splat %x : i32 -> tensor<4xi32>
  %s = arith.addi %i, %xs : tensor<4xi32>
  %t = tt.reshape %s : tensor<4xi32> -> tensor<2x2xi32>
  %f = arith.sitofp %x : i32 to f32
  %b = arith.cmpi slt, %i, %xs : tensor<4xi32>
  %h = arith.truncf %f : f32 to bf16
  tt.print " t: " {hex = false, isSigned = array<i32: 1>} : %t : tensor<2x2xi32>
  tt.print " f: " {hex = false, isSigned = array<i32: 1>} : %f : f32
  tt.print "here" {hex = false, isSigned = array<i32>}
  tt.print " b: " {hex = true, isSigned = array<i32: 0, 0>} : %b, %h : tensor<4xi1>, bf16)",
      {scalarI32(-2), zeros<int32_t>(1)});
  EXPECT_EQ(lines,
            (Lines{"pid (0, 0, 0) idx (0, 0) t: -2", "pid (0, 0, 0) idx (0, 1) t: -1", "pid (0, 0, 0) idx (1, 0) t: 0",
                   "pid (0, 0, 0) idx (1, 1) t: 1", "pid (0, 0, 0) idx () f: -2.000000", "pid (0, 0, 0) here",
                   "pid (0, 0, 0) idx (0) b: (operand 0) 0x00", "pid (0, 0, 0) idx (1) b: (operand 0) 0x00",
                   "pid (0, 0, 0) idx (2) b: (operand 0) 0x00", "pid (0, 0, 0) idx (3) b: (operand 0) 0x00",
                   "pid (0, 0, 0) idx () b: (operand 1) -0x1p+1"}));
}

// A loop in each of several programs: every one prints in its own order, and a GPU's lines are sorted by program.
TEST_P(Debug, prints_of_a_program_keep_their_order) {
  run("%n: i32", R"(
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %i = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32>
  scf.for %k = %c0 to %n step %c1 : i32 {
    %ks = tt.splat %k : i32 -> tensor<256xi32>
    %s = arith.addi %i, %ks : tensor<256xi32>
    tt.print "s" {hex = false, isSigned = array<i32: 1>} : %s : tensor<256xi32>
    tt.print "k" {hex = false, isSigned = array<i32: 1>} : %k : i32
  })",
      {scalarI32(2)}, {3, 2, 1});
  auto programs = linesByProgram();
  ASSERT_EQ(programs.size(), 6u);
  Lines all;
  for (int y = 0; y < 2; ++y)
    for (int x = 0; x < 3; ++x) {
      std::string pid = "pid (" + std::to_string(x) + ", " + std::to_string(y) + ", 0)";
      Lines expected;
      for (int k = 0; k < 2; ++k) {
        for (int i = 0; i < 256; ++i)
          expected.push_back(pid + fmt::format(" idx ({:3}) s: {}", i, i + k));
        expected.push_back(pid + " idx () k: " + std::to_string(k));
      }
      EXPECT_EQ(programs[pid], expected) << pid;
      all.insert(all.end(), expected.begin(), expected.end());
    }
  if (isGpu(GetParam()))
    EXPECT_EQ(lines, all);
}

TEST_P(Debug, lines_beyond_the_limit_are_counted) {
  const char *body = R"(
  %i = tt.make_range {end = 8192 : i32, start = 0 : i32} : tensor<8192xi32>
  tt.print "i" {hex = false, isSigned = array<i32: 1>} : %i : tensor<8192xi32>)";
  run("%n: i32", body, {scalarI32(0)}, {2, 1, 1});
  ASSERT_EQ(lines.size(), 4097u);
  EXPECT_TRUE(lines[4095].ends_with("idx (4095) i: 4095")) << lines[4095];
  EXPECT_EQ(lines[4096], "kernel `k`: 12288 more lines of print were dropped");
}

// More and smaller pieces than there is room for, and what is left between them at the end.
TEST_P(Debug, small_prints_reach_the_limit_too) {
  run("%n: i32", R"(
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %k = %c0 to %n step %c1 : i32 {
    tt.print "k" {hex = false, isSigned = array<i32: 1>} : %k : i32
    tt.print "there" {hex = false, isSigned = array<i32>}
  })",
      {scalarI32(2100)});
  ASSERT_EQ(lines.size(), 4097u);
  EXPECT_EQ(lines[4094], "pid (0, 0, 0) idx () k: 2047");
  EXPECT_EQ(lines[4095], "pid (0, 0, 0) there");
  EXPECT_EQ(lines[4096], "kernel `k`: 104 more lines of print were dropped");
}

static const char *const indexBelow = R"(
  %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %pid = tt.get_program_id x : i32
  %rest = arith.subi %n, %pid : i32
  %ns = tt.splat %rest : i32 -> tensor<64xi32>
  %c = arith.cmpi slt, %i, %ns : tensor<64xi32>
  tt.assert %c, "index below n" : tensor<64xi1>)";

TEST_P(Debug, a_failed_assert_names_text_instance_and_element) {
  std::string failure = failureOf("%n: i32", indexBelow, {scalarI32(37)});
  EXPECT_NE(failure.find("assertion failed: index below n; in program instance (0, 0, 0), element 37"),
            std::string::npos)
      << failure;
  EXPECT_EQ(failureOf("%n: i32", indexBelow, {scalarI32(64)}), ""); // the device can still be used
}

// Programs x >= 3 of each row fail, and of these the first is named.
TEST_P(Debug, the_first_program_that_fails_is_named) {
  if (!isGpu(GetParam()))
    GTEST_SKIP() << "on the host the first in time";
  std::string failure = failureOf("%n: i32", indexBelow, {scalarI32(66)}, {5, 3, 2});
  EXPECT_NE(failure.find("in program instance (3, 0, 0), element 63"), std::string::npos) << failure;
}

// A scalar condition, in a loop, in warps that hold none of the tile; what came before stays, nothing comes after.
TEST_P(Debug, a_failed_assert_ends_its_program) {
  if (!isGpu(GetParam()))
    GTEST_SKIP() << "the host skips the copies behind an error";
  std::vector<Argument> arguments{zeros<int32_t>(3 * 512), scalarI32(2)};
  std::string text = kernelText("%o: !tt.ptr<i32>, %n: i32", R"(
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %c512 = arith.constant 512 : i32
  %pid = tt.get_program_id x : i32
  %at = arith.muli %pid, %c512 : i32
  %i = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32>
  %ats = tt.splat %at : i32 -> tensor<512xi32>
  %offsets = arith.addi %i, %ats : tensor<512xi32>
  %os = tt.splat %o : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>>
  %op = tt.addptr %os, %offsets : tensor<512x!tt.ptr<i32>>, tensor<512xi32>
  scf.for %k = %c0 to %c4 step %c1 : i32 {
    %sum = arith.addi %k, %pid : i32
    %next = arith.addi %k, %c1 : i32
    %nexts = tt.splat %next : i32 -> tensor<512xi32>
    tt.store %op, %nexts : tensor<512x!tt.ptr<i32>>
    %fine = arith.cmpi sle, %sum, %n : i32
    tt.assert %fine, "not too far" : i1
  })");
  EXPECT_THROW(executor->run(text, {3, 1, 1}, arguments), heddle::Error);
  auto values = valuesOf<int32_t>(arguments[0]);
  for (int program = 0; program < 3; ++program)
    for (int i = 0; i < 512; ++i)
      ASSERT_EQ(values[program * 512 + i], 4 - program) << "program " << program << ", element " << i;
}

// Within a map each element has its own way; its program ends after it.
TEST_P(Debug, asserts_in_maps) {
  std::vector<Argument> arguments{zeros<int32_t>(128), scalarI32(100)};
  auto run = [&] {
    executor->run(kernelText("%o: !tt.ptr<i32>, %n: i32", R"(
  %i = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
  %ns = tt.splat %n : i32 -> tensor<128xi32>
  %r = "tt.map_elementwise"(%i, %ns) <{pack = 1 : i32}> ({
  ^bb0(%x: i32, %limit: i32):
    %below = arith.cmpi slt, %x, %limit : i32
    tt.assert %below, "below the limit" : i1
    %s = arith.addi %x, %limit : i32
    tt.map_elementwise.return %s : i32
  }) : (tensor<128xi32>, tensor<128xi32>) -> tensor<128xi32>
  %os = tt.splat %o : !tt.ptr<i32> -> tensor<128x!tt.ptr<i32>>
  %op = tt.addptr %os, %i : tensor<128x!tt.ptr<i32>>, tensor<128xi32>
  tt.store %op, %r : tensor<128x!tt.ptr<i32>>)"),
                  {}, arguments);
  };
  EXPECT_NE(errorOf(run).find("assertion failed: below the limit"), std::string::npos);
  EXPECT_EQ(valuesOf<int32_t>(arguments[0]), std::vector<int32_t>(128));
  arguments[1] = scalarI32(128);
  run();
  EXPECT_EQ(valuesOf<int32_t>(arguments[0])[127], 255);
}

// A thread that is alone cannot end the others: its failure is noted, and the program goes on.
TEST_P(Debug, an_assert_of_one_thread_is_noted) {
  if (!isGpu(GetParam()))
    GTEST_SKIP() << "on the host a program is one thread";
  std::vector<Argument> arguments{zeros<int32_t>(1)};
  std::string text = kernelText("%o: !tt.ptr<i32>", R"(
  %c7 = arith.constant 7 : i32
  %no = arith.constant false
  %thread = peer.thread_id : i32
  %seventh = arith.cmpi eq, %thread, %c7 : i32
  scf.if %seventh {
    tt.assert %no, "not here" : i1
  }
  tt.store %o, %c7 : !tt.ptr<i32>)");
  EXPECT_NE(errorOf([&] { executor->run(text, {}, arguments); }).find("assertion failed: not here"), std::string::npos);
  EXPECT_EQ(valuesOf<int32_t>(arguments[0])[0], 7);
}

// Who waits for a program that is gone ends too, in a poll and in a loop.
TEST_P(Debug, a_failed_assert_ends_those_who_wait) {
  if (!isGpu(GetParam()))
    GTEST_SKIP() << "on the host the launch's deadline would do it";
  std::string failure = failureOf("%p: !tt.ptr<i32>", R"(
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %pid = tt.get_program_id x : i32
  %fine = arith.cmpi ne, %pid, %c1 : i32
  tt.assert %fine, "not the second" : i1
  %polls = arith.cmpi eq, %pid, %c2 : i32
  scf.if %polls {
    %came = tt.atomic_poll acquire, gpu, %p, %c1 : !tt.ptr<i32>, i32 -> i1
  } else {
    scf.while : () -> () {
      %seen = tt.load %p {isVolatile = true} : !tt.ptr<i32>
      %again = arith.cmpi eq, %seen, %c0 : i32
      scf.condition(%again)
    } do {
      scf.yield
    }
  })",
                                  {zeros<int32_t>(1)}, {3, 1, 1});
  EXPECT_NE(failure.find("not the second; in program instance (1, 0, 0), element 0"), std::string::npos) << failure;
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

// Captured launches print at each run of the graph, and a failure is an error of the stream that ran it.
TEST(Graphs, report_at_each_launch) {
  if (testDevice() == "threads")
    GTEST_SKIP() << "the interpreter has no graphs";
  Lines lines;
  auto before = heddle::setPrintSink([&](const std::string &line) { lines.push_back(line); });
  auto device = heddle::openDevice(testDevice());
  heddle::CompileOptions options;
  options.target = device->chip().name;
  std::string text = kernelText("%p: !tt.ptr<i32>", R"(
  %c1 = arith.constant 1 : i32
  %x = tt.load %p : !tt.ptr<i32>
  tt.print "x" {hex = false, isSigned = array<i32: 1>} : %x : i32
  %y = arith.addi %x, %c1 : i32
  tt.store %p, %y : !tt.ptr<i32>
  %fine = arith.cmpi slt, %x, %c1 : i32
  tt.assert %fine, "only once" : i1)");
  auto module = device->loadModule(heddle::compile(text, "program", options).package);
  auto stream = device->createStream();
  heddle::Buffer counter = device->allocate(4);
  stream->fill(counter, 0);
  stream->beginCapture();
  stream->launch({.kernel = heddle::Kernel{module}, .arguments = {counter}});
  auto graph = stream->endCapture();
  stream->launch(*graph);
  stream->synchronize();
  EXPECT_EQ(lines, Lines{"pid (0, 0, 0) idx () x: 0"});
  stream->launch(*graph);
  EXPECT_NE(errorOf([&] { stream->synchronize(); }).find("assertion failed: only once"), std::string::npos);
  EXPECT_EQ(lines, (Lines{"pid (0, 0, 0) idx () x: 0", "pid (0, 0, 0) idx () x: 1"}));
  stream->fill(counter, 0);
  stream->launch(*graph);
  stream->synchronize();
  EXPECT_EQ(lines.size(), 3u);
  heddle::setPrintSink(std::move(before));
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
