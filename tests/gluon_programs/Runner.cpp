// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs a program under schedules, compares memory, and holds refusals against what the program plants.
#include "tests/gluon_programs/Runner.h"
#include "compiler/pipeline/Compile.h"
#include "runtime/Driver.h"
#include "runtime/Launch.h"
#include "runtime/Stream.h"
#include "runtime/drivers/simulated/SimulatedDriver.h"
#include "support/Error.h"
#include "tests/fuzz/Compare.h"
#include "tests/gluon_programs/Rules.h"
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <regex>

namespace heddle::gluon_programs {

using reference::Argument;

/// What compile() made of a program.
struct CompiledProgram {
  CompileResult result;
  std::string error; ///< empty: accepted
  ErrorClass kind = ErrorClass::Input;
};

Runner::Runner() {
  ::setenv("HEDDLE_SIM_CHECKS", "default", /*replace=*/0);
  choosesPolicy = !std::getenv("HEDDLE_SIM_POLICY");
  choosesSeed = !std::getenv("HEDDLE_SIM_SEED");
  ::setenv("HEDDLE_SIM_SCHEDULE", "random", 0);
  addSimulatedDrivers();
}

void Runner::chooseSchedule(uint64_t seed) const {
  static const char *const policies[] = {"latest", "random", "latest", "earliest"};
  if (choosesPolicy)
    ::setenv("HEDDLE_SIM_POLICY", policies[seed % 4], 1);
  if (choosesSeed)
    ::setenv("HEDDLE_SIM_SEED", std::to_string(seed).c_str(), 1);
}

static CompiledProgram compiled(const GluonProgram &program, WarpPipelines warpPipelines = WarpPipelines::Auto) {
  CompiledProgram compiled;
  CompileOptions options;
  options.warpPipelines = warpPipelines;
  options.target = program.chip;
  try {
    compiled.result = compile(program.text, "program", options);
  } catch (const Error &error) {
    compiled.error = error.what();
    compiled.kind = error.kind;
    for (const std::string &note : error.notes)
      compiled.error += "\nnote: " + note;
  }
  return compiled;
}

/// The first difference of the arguments from what they must be, and what the simulator found.
std::string Runner::run(const GluonProgram &program, const CompiledProgram &compiled) {
  chooseSchedule(program.seed);
  std::shared_ptr<Device> &device = devices[program.chip];
  if (!device)
    device = openDevice("sim:" + program.chip);
  std::unique_ptr<Stream> stream = device->createStream();
  fuzz::FuzzProgram words;
  std::vector<Argument> actual = program.arguments;
  try {
    Launch launch;
    launch.kernel.module = device->loadModule(compiled.result.package);
    std::vector<Buffer> buffers;
    for (size_t i = 0; i < actual.size(); ++i) {
      if (!actual[i].isBuffer) {
        launch.arguments.push_back(ScalarBits{actual[i].bits});
        continue;
      }
      words.outputs.push_back({i, program.elements[i]});
      buffers.push_back(device->allocate(actual[i].bytes.size(), "argument " + std::to_string(i)));
      stream->copyToDevice(buffers.back(), actual[i].bytes.data());
      launch.arguments.push_back(DeviceAddress(buffers.back()));
    }
    stream->launch(launch);
    stream->synchronize();
    auto buffer = buffers.begin();
    for (Argument &argument : actual)
      if (argument.isBuffer)
        stream->copyToHost(argument.bytes.data(), *buffer++);
    stream->synchronize();
  } catch (const Error &error) {
    return fmt::format("the run failed: {}\n{}", error.what(), fmt::join(error.notes, "\n"));
  }
  auto difference = fuzz::compareOutputs(words, program.expected, actual);
  return difference ? difference->message : "";
}

static bool isSaid(const std::vector<std::string> &warnings, const std::string &words) {
  return std::any_of(warnings.begin(), warnings.end(),
                     [&](const std::string &warning) { return warning.find(words) != std::string::npos; });
}

std::string Runner::judgeInOrder(const GluonProgram &program) {
  CompiledProgram of = compiled(program, WarpPipelines::Off);
  std::string failure = of.error.empty() ? run(program, of) : of.error;
  return failure.empty() ? "" : "without warp pipelines: " + failure;
}

/// Of a list with spaces between.
static bool isOneOf(const std::string &rule, const std::string &rules) {
  return !rule.empty() && (" " + rules + " ").find(" " + rule + " ") != std::string::npos;
}

std::string Runner::judge(const GluonProgram &program) {
  const Expectation &expectation = program.expectation;
  CompiledProgram of = compiled(program);
  ++counts.programs;
  if (!of.error.empty()) {
    std::string rule = ruleOf(of.error);
    ++counts.refused[rule.empty() ? "?" : rule];
    if (of.kind != ErrorClass::Input)
      return "a fault of the compiler: " + of.error;
    if (expectation.refusal.empty())
      return "a legal program is refused: " + of.error;
    if (!std::regex_search(of.error, std::regex("^program:\\d+:\\d+: ")))
      return "refused without a location: " + of.error;
    if (!isOneOf(rule, expectation.refusal))
      return fmt::format("refused by rule '{}' instead of '{}': {}", rule, expectation.refusal, of.error);
    return expectation.isRightInOrder ? judgeInOrder(program) : "";
  }
  ++counts.accepted;
  const std::vector<std::string> &warnings = of.result.warnings;
  for (const char *words : {"rule C1", "rule C2", "rule C3", "rule C5", "waits for all copies in flight",
                            "waits for nothing", "is never waited for"})
    counts.warned[words] += isSaid(warnings, words);
  if (!expectation.refusal.empty() && !expectation.mayBeAccepted)
    return "accepted, though it must be refused by rule " + expectation.refusal;
  for (const std::string &words : expectation.warned)
    if (!isSaid(warnings, words))
      return fmt::format("no warning says '{}'; there are:\n{}", words, fmt::join(warnings, "\n"));
  for (const std::string &words : expectation.silent)
    if (isSaid(warnings, words))
      return fmt::format("a warning says '{}':\n{}", words, fmt::join(warnings, "\n"));
  std::string failure = run(program, of);
  counts.pipelined += program.pipelines > 0;
  return failure.empty() && program.pipelines > 0 ? judgeInOrder(program) : failure;
}

/// Without numbers and names, which change when steps are left out.
static std::string kindOf(const std::string &failure) {
  std::string kind = std::regex_replace(failure.substr(0, failure.find('\n')), std::regex("[0-9]+|'[^']*'"), "");
  return kind.substr(0, 60);
}

std::string Runner::check(uint64_t seed, bool reduces) {
  GluonProgram program = programOf(seed);
  std::string failure = judge(program);
  if (failure.empty())
    return "";
  Tally before = counts;
  for (size_t i = program.steps.size(); reduces && i-- > 0;) {
    std::vector<int> fewer = program.steps;
    fewer.erase(fewer.begin() + std::ptrdiff_t(i));
    GluonProgram smaller = programOf(seed, fewer);
    std::string again = judge(smaller);
    if (kindOf(again) == kindOf(failure))
      program = smaller, failure = again;
  }
  counts = before;
  return fmt::format("// {}\n{}", std::regex_replace(failure, std::regex("\n"), "\n// "), describe(program));
}

std::string Runner::summary() const {
  std::string text = fmt::format("{} programs: {} accepted, of which {} have warp pipelines", counts.programs,
                                 counts.accepted, counts.pipelined);
  for (const auto &[rule, count] : counts.refused)
    text += fmt::format(", {} refused by {}", count, rule);
  for (const auto &[words, count] : counts.warned)
    text += fmt::format("\n  {} with a warning: {}", count, words);
  return text;
}

} // namespace heddle::gluon_programs
