// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Warp pipelines on sm_90: random stages that two groups of warps execute one stage apart, in the thread interpreter,
// which finds races and barriers that warps miss; and faults that are planted in their barriers and waits.
#include "tests/gluon_programs/ThreadPipelines.h"
#include "compiler/pipeline/Compile.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/TestPaths.h"
#include "tests/executors/Executor.h"
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <regex>

using namespace heddle;
using namespace heddle::gluon_programs;

namespace {

/// What is wrong with the run, or the compiler's message; empty when it leaves the expected bits.
std::string run(const ThreadPipeline &pipeline, const std::string &text, const std::string &after,
                const std::string &warpPipelines = "auto") {
  executors::ThreadsOptions options;
  options.warps = 8;
  options.warpPipelines = warpPipelines;
  options.resumeAfter = after;
  std::vector<reference::Argument> arguments = pipeline.arguments;
  try {
    executors::makeThreadsExecutor(options)->run(text, {}, arguments);
  } catch (const Error &error) {
    return error.what();
  }
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].bytes != pipeline.expected[i].bytes)
      return fmt::format("argument {} has other bits than expected", i);
  return "";
}

std::string withBarriers(const ThreadPipeline &pipeline, const std::string &after) {
  CompileOptions options;
  options.target = "sm_90";
  options.warps = 8;
  options.warpPipelines = WarpPipelines::Always;
  options.resumeAfter = after;
  options.stopAfter = "insert-barriers";
  return compile(pipeline.text, "program", options).text;
}

bool isRefused(const std::string &message) {
  return message.find("(rule W7)") != std::string::npos || message.find("missing between them") != std::string::npos;
}

TEST(ThreadPipelines, LegalStagesGiveTheBitsOfTheirStagesInOrder) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    ThreadPipeline pipeline = threadPipeline(seed, /*isStraight=*/seed % 5 == 4, /*isLegal=*/true);
    EXPECT_EQ(run(pipeline, pipeline.text, "simplify-layouts"), "") << "seed " << seed << "\n" << pipeline.text;
    EXPECT_EQ(run(pipeline, pipeline.text, "simplify-layouts", "off"), "") << "seed " << seed;
  }
}

TEST(ThreadPipelines, OthersAreRefusedAndAreRightInOrderWhereTheyMayBe) {
  int rightInOrder = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    ThreadPipeline pipeline = threadPipeline(seed, /*isStraight=*/seed % 5 == 4, /*isLegal=*/false);
    std::string said = run(pipeline, pipeline.text, "simplify-layouts");
    EXPECT_TRUE(isRefused(said)) << "seed " << seed << ": " << said << "\n" << pipeline.text;
    if (!pipeline.placement.isRightInOrder())
      continue;
    ++rightInOrder;
    EXPECT_EQ(run(pipeline, pipeline.text, "simplify-layouts", "off"), "") << "seed " << seed;
  }
  EXPECT_GE(rightInOrder, 5);
}

/// With `by` in the place of a match between the groups' being shifted and aligned; empty where there are not so many.
std::string changed(const std::string &text, const std::string &pattern, size_t number, const std::string &by) {
  std::regex line(pattern);
  auto first = text.begin() + std::ptrdiff_t(text.find("simt.shift_warps"));
  auto last = text.begin() + std::ptrdiff_t(text.find("simt.align_warps"));
  auto match = std::sregex_iterator(first, last, line), end = std::sregex_iterator();
  for (; number > 0 && match != end; --number)
    ++match;
  if (match == end)
    return "";
  auto at = size_t(first - text.begin()) + size_t(match->position());
  return text.substr(0, at) + match->format(by) + text.substr(at + size_t(match->length()));
}

struct Faults {
  int accepted = 0, refused = 0, found = 0;
};

/// The proof takes no order from a bare barrier, where this chip's barriers all order memory.
std::string withoutBare(const std::string &text) {
  return std::regex_replace(text, std::regex("simt\\.barrier bare"), "simt.barrier shared");
}

/// One change after the other of a legal program. What the proof accepts runs clean, and the interpreter finds what it
/// refuses.
void plant(const ThreadPipeline &pipeline, const std::string &pattern, const std::string &by, Faults &faults,
           const std::string &after = "simplify-layouts") {
  std::string good = withBarriers(pipeline, after);
  for (size_t number = 0; number < 12; ++number) {
    std::string bad = changed(good, pattern, number, by);
    if (bad.empty())
      return;
    std::string said = run(pipeline, bad, "insert-barriers");
    if (!isRefused(said)) {
      ++faults.accepted;
      EXPECT_EQ(said, "") << bad;
      continue;
    }
    ++faults.refused;
    std::string ran = run(pipeline, bad, "verify-hazards");
    bool isFound = ran.find("race at byte") != std::string::npos || ran.find("a copy in flight") != std::string::npos;
    faults.found += isFound;
    if (!isFound)
      EXPECT_EQ(run(pipeline, withoutBare(bad), "insert-barriers"), "") << bad;
  }
}

std::vector<ThreadPipeline> loops() {
  std::vector<ThreadPipeline> found;
  for (uint64_t seed = 0; found.size() < 16; ++seed)
    if (ThreadPipeline pipeline = threadPipeline(seed, false, true); pipeline.arguments.back().bits >= 5)
      found.push_back(pipeline);
  return found;
}

Faults plantInLoops(const std::string &pattern, const std::string &by) {
  Faults faults;
  for (const ThreadPipeline &pipeline : loops())
    plant(pipeline, pattern, by, faults);
  return faults;
}

constexpr const char *barrierLine = "\n *simt\\.barrier[ a-z]*(?=\n)";

TEST(ThreadPipelines, ABarrierLessIsRefusedOrHarmless) {
  Faults faults = plantInLoops(barrierLine, "");
  EXPECT_GE(faults.refused, 10);
  EXPECT_GE(faults.accepted, 5);
  EXPECT_GE(faults.found, 10);
}

TEST(ThreadPipelines, AGroupMoreInFlightIsRefusedOrHarmless) {
  Faults faults = plantInLoops("simt\\.async_wait ([0-9]+)", "simt.async_wait 9");
  EXPECT_GE(faults.refused, 4);
  EXPECT_GE(faults.found, 4);
}

/// A matmul of warp groups, which gets two stages; the expected bits are those without.
ThreadPipeline matmul() {
  ThreadPipeline made{readFile(sourcePath("bench/kernels/matmul_bf16_128x256x64.ttir")), {}, {}, {}};
  fuzz::Random random(1);
  constexpr int m = 128, n = 256, k = 320;
  for (int count : {m * k, k * n, m * n}) {
    std::vector<uint8_t> bytes;
    for (int i = 0; i < count; ++i) { // 1 to 2
      bytes.push_back(uint8_t(random.bits()));
      bytes.push_back(0x3f);
    }
    made.arguments.push_back(reference::Argument::buffer(bytes));
  }
  for (int scalar : {m, n, k, k, n, n})
    made.arguments.push_back(reference::Argument::scalar(uint64_t(scalar)));
  made.expected = made.arguments;
  executors::ThreadsOptions options;
  options.warps = 8;
  executors::makeThreadsExecutor(options)->run(made.text, {}, made.expected);
  return made;
}

TEST(ThreadPipelines, FaultsInStagesOfWarpGroupsAreRefusedAndFound) {
  ThreadPipeline pipeline = matmul();
  EXPECT_EQ(run(pipeline, pipeline.text, "", "always"), "");
  Faults faults;
  plant(pipeline, barrierLine, "", faults, "");
  EXPECT_EQ(faults.refused, 2);
  EXPECT_EQ(faults.found, 2);
  plant(pipeline, "simt\\.async_wait 1", "simt.async_wait 2", faults, "");
  EXPECT_EQ(faults.found, 3);
  plant(pipeline, "(simt\\.dot_wait %[a-z0-9]+)", "$1 pending 1", faults, "");
  EXPECT_EQ(faults.found, 4);
}

// Removed from the code of threads, the two barriers of one half are missed by the other; those of all are not.
TEST(ThreadPipelines, AGroupThatMissesABarrierWaitsForEver) {
  executors::ThreadsOptions options;
  options.warps = 8;
  options.resumeAfter = "simplify-layouts";
  for (const ThreadPipeline &pipeline : loops())
    EXPECT_EQ(executors::tryBarriers(pipeline.text, {}, pipeline.arguments, options).counted.size(), 2u);
}

} // namespace
