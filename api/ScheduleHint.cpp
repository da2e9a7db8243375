// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes the second run, unless the first one took too long to be worth it, and says where the results differ.
#include "api/ScheduleHint.h"
#include "api/CheckRuns.h"
#include "api/Values.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle {
namespace {

using namespace simulator;

/// Of the first run: some seconds.
constexpr uint64_t mostInstructions = 1 << 24;
/// A kernel that waits for another workgroup takes more of them where waves take turns.
constexpr uint64_t mostSlowdown = 4, leastLimit = 1 << 20;

std::string describe(const SimulatedKernel &kernel, const Difference &difference) {
  const Array &array = kernel.buffers[difference.buffer].array;
  return fmt::format("{} of {} elements of `{}` differ, first {}: {} here, {} under round-robin", difference.elements,
                     countElements(array.shape), array.name, formatIndex(difference.element, array.shape),
                     difference.there, difference.here);
}

} // namespace

ScheduleHint compareSchedules(const SimulatedKernel &kernel, const KernelOutcome &outcome,
                              const SimulationOptions &given) {
  using enum ScheduleHint::Result;
  uint64_t instructions = outcome.report.statistics.instructions;
  if (instructions > mostInstructions)
    return {NotCompared, {fmt::format("{} instructions are more than {}", instructions, mostInstructions)}};
  SimulationOptions options = given;
  options.schedule = Schedule::RoundRobin;
  options.instructionLimit = mostSlowdown * instructions + leastLimit;
  KernelOutcome other = kernel.run(kernel.object, options);
  if (other.report.isEndless)
    return {NotCompared, {fmt::format("round-robin does not end within {} instructions", options.instructionLimit)}};
  if (other.report.error)
    return {Different, {fmt::format("round-robin ends with an error: {}", other.report.error->what())}};
  ScheduleHint hint{Same, {}};
  for (const Difference &difference :
       compareOutcomes(kernel, other, outcome, std::vector<bool>(kernel.buffers.size()))) {
    hint.result = Different;
    hint.reasons.push_back(describe(kernel, difference));
  }
  return hint;
}

} // namespace heddle
