// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests of ranks that are processes: joining a group, planning by name, and one rank's call with what the reference
// makes of all ranks' inputs.
#pragma once
#include "collectives/kernel/CompileKernel.h"
#include "runtime/ProcessGroup.h"
#include "runtime/processes/TestProcesses.h"
#include "tests/multi_device/Cases.h"

namespace heddle::testing {

inline Communicator::Options deadline(double seconds) {
  Communicator::Options options;
  options.deadlineSeconds = seconds;
  return options;
}

inline std::unique_ptr<Communicator> join(const TestRank &self, double seconds = 30, double stepSeconds = 20) {
  auto processes =
      std::make_unique<ProcessGroup>(*self.bootstrap(), openDevice("host:" + std::to_string(self.rank)), 20);
  processes->setStepSeconds(stepSeconds);
  return std::make_unique<Communicator>(std::move(processes), deadline(seconds));
}

inline Plan planOf(const Algorithm &algorithm, int ranks, int64_t inner, bool windows = false) {
  PlanOptions options;
  options.windows = windows;
  options.algorithm = algorithm.name;
  return makePlan(makeCollective(algorithm.kinds[0], ranks, 1, inner), hostChip, options);
}

/// By this process, before it has children, which then find the kernel: each rank of a program compiles its own.
inline Plan compiled(const Plan &plan) {
  compileKernel(plan);
  return plan;
}

/// One rank's input and output, with what the reference makes of all ranks' inputs.
class RankRun {
public:
  RankRun(Communicator &group, int rank, const Plan &plan, uint64_t seed) : RankRun(group, rank, plan, seed, {}, 0, 0) {
    own.push_back(group.device(rank)->allocate(std::max<size_t>(1, mine.size()), "input"));
    own.push_back(group.device(rank)->allocate(std::max<size_t>(1, expected.size()), "output"));
    input = own[0].address(), output = own[1].address();
    fill();
  }
  /// Operands at addresses in windows; in place where they are equal.
  RankRun(Communicator &group, int rank, const Plan &plan, uint64_t seed, const OperandWindows &windows, uint64_t input,
          uint64_t output)
      : group(group), operation(group.prepare(plan, "", "", windows)), plan(plan), rank(rank), input(input),
        output(output) {
    auto inputs = reference::randomInputs(plan.collective, seed, seed % 2 == 1);
    expected = reference::runCollective(plan.collective, inputs)[size_t(rank)];
    mine = inputs[size_t(rank)];
    if (input)
      fill();
  }
  /// The input and, where it is other memory, bytes that no result has in the output.
  void fill() {
    if (output != input)
      group.stream(rank).fill(output, 0xA5, expected.size());
    if (!mine.empty())
      group.stream(rank).copyToDevice(input, mine.data(), mine.size());
  }
  void launch() { group.launch(operation, rank, {DeviceAddress(input), DeviceAddress(output)}); }
  /// Empty when it is right.
  std::string difference() {
    std::string seen(expected.size(), '\0');
    if (!seen.empty())
      group.stream(rank).copyToHost(seen.data(), output, seen.size());
    group.synchronize();
    return reference::firstDifference(plan.collective.type, seen, expected);
  }

private:
  Communicator &group;
  Communicator::Operation &operation;
  Plan plan;
  int rank;
  std::string mine, expected;
  std::vector<Buffer> own;
  uint64_t input, output;
};

} // namespace heddle::testing
