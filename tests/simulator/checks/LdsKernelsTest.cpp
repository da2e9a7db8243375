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
  std::vector<int> numbers = {}; ///< in the order of the arguments that are no buffers
};

/// A kernel of an object, with its buffers.
class Launched {
public:
  Launched(const std::string &file, const KernelCase &each)
      : object(file), kernel(object.simulator.object().kernel(each.name)), geometry(each.geometry),
        segment(kernel.kernargBytes, '\0') {
    std::vector<int> values(64 * 1024 / 4);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = int(i % 31);
    size_t number = 0;
    for (const AmdArgument &argument : kernel.arguments) {
      if (argument.isBuffer()) {
        last = object.buffer(values);
        std::memcpy(&segment[argument.offset], &last, 8);
      } else if (!argument.isHidden())
        std::memcpy(&segment[argument.offset], &each.numbers.at(number++), 4);
    }
  }
  SimulationReport run(SimulationOptions options) {
    options.checks = parseChecks("none,+lds-race,+lds-same-value,+dma-at-end,+barrier-exit");
    options.instructionLimit = 10'000'000;
    return object.simulator.run(kernel, geometry, segment, options);
  }
  /// Of the last buffer.
  int word(size_t index) { return object.read<int>(last).at(index); }

private:
  SimulatedObject object;
  const AmdKernel &kernel;
  Geometry geometry;
  std::string segment;
  uint64_t last = 0;
};

std::string describe(const KernelCase &each, const SimulationOptions &options) {
  return fmt::format("{}, policy {}, schedule {}, seed {}", each.name, nameOf(options.policy), nameOf(options.schedule),
                     options.seed);
}

class LdsKernels : public testing::TestWithParam<const char *> {
protected:
  std::string file(const std::string &base) const { return base + "-" + GetParam() + ".hsaco"; }
};

TEST_P(LdsKernels, HaveNoFindings) {
  static const std::vector<KernelCase> cases = {
      {"vector_add", {.groups = {4}, .items = {256}}, {1000}},
      {"softmax_row", {.groups = {2}, .items = {256}}, {700}},
      {"reduce_sum", {.groups = {2}, .items = {1024}}},
      {"matmul", {.items = {256}}, {64}},
      {"scan", {.items = {512}}},
      {"histogram", {.groups = {4}, .items = {256}}, {2000}},
      {"atomics", {.groups = {2}, .items = {64}}},
      {"narrow", {.items = {64}}},
      {"scratch", {.items = {64}}},
      {"generic_pointers", {.items = {64}}},
      {"data", {.items = {64}}},
      {"bounded", {.items = {64}}, {160, 0}},
      {"to_lds", {.items = {64}}},
      {"early_end", {.items = {256}}},
  };
  for (const KernelCase &each : cases) {
    Launched launched(file("kernels"), each);
    forEachRun([&](const SimulationOptions &options) {
      if (options.seed > 0)
        return;
      SimulationReport report = launched.run(options);
      ASSERT_FALSE(report.error) << report.error->what();
      ASSERT_TRUE(report.findings.empty()) << describe(each, options) << "\n" << report.findings[0].text();
    });
  }
}

TEST_P(LdsKernels, LocksThatCompilersMake) {
  int ofWaves = 64 % 31 + 128 % 31 + 192 % 31, ofLanes = 0;
  for (int item = 5; item < 256; item += 64)
    ofLanes += item % 31;
  const std::pair<KernelCase, int> cases[] = {{{"lock_of_waves", {.items = {256}}}, ofWaves},
                                              {{"locks_of_lanes", {.items = {256}}}, ofLanes},
                                              {{"last_arriver", {.items = {256}}}, 250 % 31}};
  for (const auto &[each, expected] : cases) {
    Launched launched(file("locks"), each);
    forEachRun([&](const SimulationOptions &options) {
      SimulationReport report = launched.run(options);
      ASSERT_FALSE(report.error) << describe(each, options) << "\n" << report.error->what();
      ASSERT_EQ(launched.word(5), expected) << describe(each, options);
      ASSERT_TRUE(report.findings.empty()) << describe(each, options) << "\n" << report.findings[0].text();
    });
  }
}

/// The instructions do not show that this is right, and the report says so.
TEST_P(LdsKernels, AFlagOfAtomicLoadsAndStoresIsAFindingWithANote) {
  KernelCase each = {"flag", {.items = {128}}};
  Launched launched(file("locks"), each);
  forEachRun([&](const SimulationOptions &options) {
    SimulationReport report = launched.run(options);
    ASSERT_FALSE(report.error) << report.error->what();
    ASSERT_EQ(launched.word(5), (64 + 58) % 31) << describe(each, options);
    bool noted = false;
    for (const Finding &finding : report.findings)
      noted |= finding.text().find("atomic load or store of a flag") != std::string::npos;
    ASSERT_TRUE(noted) << describe(each, options);
  });
}

INSTANTIATE_TEST_SUITE_P(All, LdsKernels, testing::Values("gfx942-O0", "gfx942-O3", "gfx950-O0", "gfx950-O3"),
                         [](const auto &info) {
                           std::string name = info.param;
                           return name.substr(0, 6) + name.substr(7);
                         });

} // namespace
} // namespace heddle::simulator
