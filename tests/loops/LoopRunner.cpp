// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiles a loop for each number of stages, runs it with checks, and compares with the evaluator.
#include "tests/loops/LoopRunner.h"
#include "compiler/pipeline/Compile.h"
#include "runtime/drivers/simulated/SimulatedDriver.h"
#include "support/Error.h"
#include "tests/fuzz/Reduce.h"
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <regex>
#include <set>

namespace heddle::loops {

using fuzz::Difference;
using fuzz::FuzzProgram;
using reference::Argument;

LoopRunner::LoopRunner() {
  ::setenv("HEDDLE_SIM_CHECKS", "default", /*replace=*/0);
  ::setenv("HEDDLE_SIM_POLICY", "random", 0);
  ::setenv("HEDDLE_SIM_SCHEDULE", "random", 0);
  choosesSeed = !std::getenv("HEDDLE_SIM_SEED");
  addSimulatedDrivers();
}

fuzz::Executor &LoopRunner::executorOf(const std::string &chip, int warps, int stages) {
  std::unique_ptr<fuzz::Executor> &executor = executors[{chip, warps, stages}];
  if (!executor)
    executor = executors::makeDeviceExecutor("sim:" + chip, {.warps = warps, .stages = stages});
  return *executor;
}

/// What the evaluator leaves, whatever it chooses where the language leaves a choice.
static std::vector<Argument> expectedOf(const FuzzProgram &program) {
  std::vector<Argument> expected = program.arguments, again = program.arguments;
  reference::evaluateText(program.text, program.grid, expected);
  reference::evaluateText(program.text, program.grid, again, {.contrary = true, .undefinedBits = 0xa5a5a5a5a5a5a5a5});
  if (auto difference = fuzz::compareOutputs(program, expected, again))
    throw internalError(fmt::format("the program of seed {} depends on what the language leaves open: {}\n{}",
                                    program.seed, difference->message, program.text));
  return expected;
}

/// The difference from `expected`, in the words by which a program is reduced, with what the simulator found.
static std::optional<Difference> differenceOf(const FuzzProgram &program, fuzz::Executor &executor,
                                              const std::vector<Argument> &expected) {
  std::vector<Argument> actual = program.arguments;
  try {
    executor.run(program.text, program.grid, actual);
  } catch (const Error &error) {
    Difference difference = fuzz::checkProgram(program, executor).value_or(Difference{error.what(), error.what()});
    for (const std::string &note : error.notes)
      difference.message += "\n" + note;
    return difference;
  }
  return fuzz::compareOutputs(program, expected, actual);
}

static bool isAnyOf(const std::vector<std::string> &remarks, const std::string &what) {
  return std::any_of(remarks.begin(), remarks.end(),
                     [&](const std::string &remark) { return remark.find(what) != std::string::npos; });
}

std::string LoopRunner::check(uint64_t seed, bool reduces) {
  RandomLoop loop = randomLoop(seed);
  FuzzProgram program = programOf(loop);
  std::vector<Argument> expected = expectedOf(program);
  if (choosesSeed)
    ::setenv("HEDDLE_SIM_SEED", std::to_string(seed).c_str(), 1);
  bool isCopied = false, isHeld = false;
  for (const char *chip : {"gfx942", "gfx950"}) {
    std::set<std::string> loops; // what follows pipeline-loops does not know the number of stages
    for (int stages = 0; stages <= 4; ++stages) {
      CompileOptions options;
      options.target = chip, options.warps = loop.warps, options.stages = stages, options.stopAfter = "pipeline-loops";
      CompileResult pipelined = compile(program.text, "program", options);
      isCopied |= isAnyOf(pipelined.remarks, "copies straight to LDS");
      isHeld |= isAnyOf(pipelined.remarks, "prefetched to registers");
      if (!loops.insert(pipelined.text).second)
        continue;
      ++counts.kernels;
      fuzz::Executor &executor = executorOf(chip, loop.warps, stages);
      if (auto difference = differenceOf(program, executor, expected)) {
        FuzzProgram shown = reduces ? fuzz::reduceProgram(program, executor, *difference) : program;
        std::string message = std::regex_replace(difference->message, std::regex("\n"), "\n// ");
        return fmt::format("// {}, {} stages: {}\n{}", executor.name(), stages, message, describe(loop, shown));
      }
    }
  }
  ++counts.programs;
  counts.copied += isCopied;
  counts.held += isHeld;
  return "";
}

std::string describe(const RandomLoop &loop, const FuzzProgram &program) {
  std::string text = fmt::format("// seed {}, {} warps, grid {}\n", loop.seed, loop.warps, program.grid.x);
  for (size_t i = 0; i < program.argumentNotes.size(); ++i)
    text += fmt::format("// argument {}: {}\n", i, program.argumentNotes[i]);
  return text + program.text;
}

} // namespace heddle::loops
