// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernels of tests/simulator/kernels, which are right, have no findings of LdsCheck: on both chips, unoptimised and
// optimised, under every policy and schedule.
#include "tests/simulator/checks/AssembledKernel.h"
#include "tests/simulator/kernels/SimulatedKernel.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace heddle::simulator {
namespace {

/// Numbers are given as they are; each buffer is fresh, of 64 KiB of small numbers.
struct KernelCase {
  const char *name;
  Geometry geometry;
  std::vector<int> numbers; ///< in the order of the arguments that are no buffers
};

const std::vector<KernelCase> &kernelCases() {
  static const std::vector<KernelCase> cases = {
      {"vector_add", {.groups = {4}, .items = {256}}, {1000}},
      {"softmax_row", {.groups = {2}, .items = {256}}, {700}},
      {"reduce_sum", {.groups = {2}, .items = {1024}}, {}},
      {"matmul", {.items = {256}}, {64}},
      {"scan", {.items = {512}}, {}},
      {"histogram", {.groups = {4}, .items = {256}}, {2000}},
      {"atomics", {.groups = {2}, .items = {64}}, {}},
      {"narrow", {.items = {64}}, {}},
      {"scratch", {.items = {64}}, {}},
      {"generic_pointers", {.items = {64}}, {}},
      {"data", {.items = {64}}, {}},
      {"bounded", {.items = {64}}, {160}},
      {"to_lds", {.items = {64}}, {}},
      {"early_end", {.items = {256}}, {}},
  };
  return cases;
}

std::string segmentOf(SimulatedObject &object, const AmdKernel &kernel, const KernelCase &each) {
  std::vector<int> values(64 * 1024 / 4);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = int(i % 31);
  std::string segment(kernel.kernargBytes, '\0');
  size_t number = 0;
  for (const AmdArgument &argument : kernel.arguments) {
    if (argument.isBuffer()) {
      uint64_t address = object.buffer(values);
      std::memcpy(&segment[argument.offset], &address, 8);
    } else if (!argument.isHidden())
      std::memcpy(&segment[argument.offset], &each.numbers.at(number++), 4);
  }
  return segment;
}

class LdsKernels : public testing::TestWithParam<const char *> {};

TEST_P(LdsKernels, HaveNoFindings) {
  for (const KernelCase &each : kernelCases()) {
    SimulatedObject object(fmt::format("kernels-{}.hsaco", GetParam()));
    const AmdKernel &kernel = object.simulator.object().kernel(each.name);
    std::string segment = segmentOf(object, kernel, each);
    for (Policy policy : allPolicies)
      for (Schedule schedule : allSchedules) {
        SimulationOptions options;
        options.policy = policy;
        options.schedule = schedule;
        options.checks = parseChecks("none,+lds-race,+dma-at-end,+barrier-exit");
        options.instructionLimit = 10'000'000;
        SimulationReport report = object.simulator.run(kernel, each.geometry, segment, options);
        ASSERT_FALSE(report.error) << each.name << ": " << report.error->what();
        ASSERT_TRUE(report.findings.empty())
            << each.name << ", policy " << int(policy) << ", schedule " << int(schedule) << "\n"
            << report.findings[0].text();
      }
  }
}

INSTANTIATE_TEST_SUITE_P(All, LdsKernels, testing::Values("gfx942-O0", "gfx942-O3", "gfx950-O0", "gfx950-O3"),
                         [](const auto &info) {
                           std::string name = info.param;
                           return name.substr(0, 6) + name.substr(7);
                         });

} // namespace
} // namespace heddle::simulator
