// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One simulated run: which observers it has, and its outputs and findings as the API gives them.
#include "api/Simulate.h"
#include "api/ScheduleHint.h"
#include "api/SimulatedKernel.h"
#include "api/SimulatedStop.h"
#include "api/SimulatedTiming.h"
#include "simulator/memory/TransactionCounter.h"
#include <fmt/format.h>

namespace heddle {
namespace {

using namespace simulator;

std::string describeStepWithSource(const SimulatedKernel &kernel, const Wave &wave, const Instruction &instruction,
                                   uint64_t pc) {
  std::string line = describeStep(wave, instruction, pc, kernel.request.devices > 1);
  std::string source = kernel.lineOf(pc);
  return source.empty() ? line : fmt::format("{}  ({})", line, source);
}

/// Tells the request's trace and step of each instruction.
SimulatedKernel::Tracer makeTracer(const SimulatedKernel &kernel) {
  const SimulateRequest &request = kernel.request;
  if (!request.trace && !request.step)
    return {};
  const Wave *lastWave = nullptr;
  const Instruction *lastInstruction = nullptr;
  return [&kernel, &request, lastWave, lastInstruction](const Wave &wave, const Instruction &instruction,
                                                        uint64_t pc) mutable {
    std::string line = describeStepWithSource(kernel, wave, instruction, pc);
    if (request.trace)
      request.trace(line);
    if (request.step)
      request.step(WaveStop(wave, instruction, lastWave == &wave ? lastInstruction : nullptr, line));
    lastWave = &wave;
    lastInstruction = &instruction;
  };
}

/// The buffers of each of the request's outputs.
std::vector<std::vector<size_t>> findOutputs(const SimulatedKernel &kernel) {
  std::vector<std::vector<size_t>> found;
  std::map<size_t, std::string> seen;
  for (const std::string &name : kernel.request.outputs) {
    found.push_back(kernel.buffersNamed(name, NameUse::Output));
    for (size_t index : found.back())
      if (auto [before, isNew] = seen.try_emplace(index, name); !isNew)
        throw ArgumentError(fmt::format("outputs `{}` and `{}` are the same buffer", before->second, name));
  }
  return found;
}

SimulatedTransactions transactionsOf(const Transactions &counts) {
  auto count = [](const Transactions::Count &each) {
    return SimulatedTransactions::Count{each.instructions, each.lines};
  };
  return {.reads = count(counts.reads),
          .writes = count(counts.writes),
          .atomics = count(counts.atomics),
          .scalarReads = count(counts.scalarReads),
          .lineBytes = lineBytes,
          .scalarLineBytes = Transactions::scalarLineBytes,
          .ldsInstructions = counts.lds,
          .scratchInstructions = counts.scratch,
          .l2Hits = counts.l2.hits,
          .l2Misses = counts.l2.misses,
          .l2Writes = counts.l2.writes};
}

} // namespace

SimulateResult simulateKernel(const std::string &file, const std::string &name, const SimulateRequest &request) {
  SimulatedKernel kernel(file, name, request);
  SimulationOptions options = kernel.options();
  TransactionCounter counter;
  if (request.transactions && options.checks.any())
    throw inputError("transactions are counted in runs without checks", {"give `--transactions` or `--checks`"});
  if (request.transactions)
    options.observer = &counter;
  std::optional<KernelTiming> timing;
  if (request.time)
    options.observer = &timing.emplace(kernel).watcher();
  std::vector<std::vector<size_t>> outputs = findOutputs(kernel);
  std::vector<bool> wanted(kernel.buffers.size() + 1); // not empty: that would be all
  for (const std::vector<size_t> &indices : outputs)
    for (size_t index : indices)
      wanted[index] = true;
  if (request.comparesSchedules)
    wanted.clear();
  KernelOutcome outcome = kernel.run(kernel.object, options, makeTracer(kernel), wanted);
  for (std::vector<uint64_t> &record : outcome.records) {
    record[0] = 0; // a failure is the run's error
    kernel.reportRecord(record);
  }
  SimulateResult result;
  result.kernel = kernel.kernel.name;
  result.chip = kernel.object.chip;
  result.instructions = outcome.report.statistics.instructions;
  result.waves = outcome.report.statistics.waves;
  result.groups = outcome.report.statistics.groups;
  result.seconds = outcome.seconds;
  result.elapsedSeconds = outcome.elapsedSeconds;
  if (request.transactions)
    result.transactions = transactionsOf(counter.counts);
  for (const Finding &finding : outcome.report.findings)
    result.findings.push_back({infoOf(finding.check).name, finding.text(kernel.sources()),
                               kernel.placesOf(finding.allLines()), finding.firstPc, finding.secondPc, finding.count});
  result.notes = textsOf(outcome.report.notes, kernel.sources());
  if (const std::optional<KernelError> &error = outcome.report.error) {
    result.error = Error(error->kind, error->what(), textsOf(error->lines, kernel.sources()));
    result.errorPlaces = kernel.placesOf(error->lines);
    return result;
  }
  if (timing)
    result.timing = timing->report(outcome.codeBase);
  if (request.comparesSchedules)
    result.schedules = compareSchedules(kernel, outcome, options);
  for (size_t requested = 0; requested < outputs.size(); ++requested)
    for (size_t index : outputs[requested]) {
      Array array = kernel.buffers[index].array;
      array.bytes = std::move(outcome.contents[index]);
      result.outputs.push_back({requested, kernel.buffers[index].device, std::move(array)});
    }
  return result;
}

std::vector<std::string> simulatedInstructions(const std::string &chip) {
  return instructionNames(chip);
}

} // namespace heddle
