// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All-reduces with flags on eight devices at once: bulk data in each one's own memory, flags in uncached pages.
#include "support/TestPaths.h"
#include "tests/reference/SoftFloat.h"
#include "tests/simulator/kernels/SimulatedKernel.h"
#include <algorithm>
#include <gtest/gtest.h>

namespace heddle::simulator {
namespace {

using reference::formatBF16;

struct Way {
  std::string chip;
  Policy policy;
  Schedule schedule;
};

class AllReduceOfDevices : public testing::TestWithParam<Way> {
protected:
  AllReduceOfDevices()
      : simulator(GetParam().chip, world),
        loaded(simulator.load(
            parseAmdCodeObject(readObject("applications/all_reduce-" + GetParam().chip + ".hsaco"), ""))) {
    std::vector<uint64_t> table, inputTable;
    for (uint32_t rank = 0; rank < world; ++rank) {
      table.push_back(simulator.allocate(4 * count, "staging", int(rank)));
      results[rank] = simulator.allocate(2 * count, "result", int(rank));
      table.push_back(results[rank]);
      table.push_back(simulator.allocate(8 * blocks * world, "flags", int(rank), Placement::Uncached));
      inputs[rank] = simulator.allocate(2 * count, "input", int(rank));
    }
    tableAt = onHost(std::vector<uint64_t>(table));
    inputsAt = onHost(std::vector<uint64_t>(inputs.begin(), inputs.end()));
    statuses = onHost(std::vector<uint64_t>(world * blocks / 2));
  }
  uint64_t onHost(const std::vector<uint64_t> &values) {
    uint64_t address = simulator.allocate(8 * values.size(), "table", hostOwner, Placement::Uncached);
    std::memcpy(simulator.bytes(address).data(), values.data(), 8 * values.size());
    return address;
  }
  /// New inputs; their sums in the order of ranks, in f32, rounded once.
  std::vector<uint16_t> fill(uint32_t epoch) {
    std::vector<float> sums(count);
    for (uint32_t rank = 0; rank < world; ++rank)
      for (uint32_t i = 0; i < count; ++i) {
        float value = float(int((i * 37 + rank * 11 + epoch * 5) % 101) - 50) / 16;
        uint16_t code = uint16_t(encode(formatBF16, value));
        std::memcpy(simulator.bytes(inputs[rank]).data() + 2 * i, &code, 2);
        sums[i] += float(decode(formatBF16, code));
      }
    std::vector<uint16_t> expected;
    for (float sum : sums)
      expected.push_back(uint16_t(encode(formatBF16, sum)));
    return expected;
  }
  void reduce(const std::string &name) {
    SimulationOptions options;
    options.policy = GetParam().policy;
    options.schedule = GetParam().schedule;
    options.seed = 5;
    options.checks = CheckSet::usual();
    const AmdKernel &kernel = loaded.object.kernel(name);
    for (uint32_t epoch = 1; epoch <= 3; ++epoch) {
      std::vector<uint16_t> expected = fill(epoch);
      std::vector<std::unique_ptr<KernelRun>> runs;
      for (uint32_t rank = 0; rank < world; ++rank) {
        struct {
          uint64_t table, inputs, statuses;
          uint32_t firstRank, world, count, epoch, blocks;
        } arguments = {tableAt, inputsAt, statuses, rank, world, count, epoch, blocks};
        std::string bytes(reinterpret_cast<const char *>(&arguments), sizeof arguments);
        runs.push_back(
            simulator.prepare(loaded, kernel, {.groups = {1, blocks}, .items = {256}}, bytes, rank, options));
      }
      SimulationReport report = simulator.run(runs, options);
      ASSERT_FALSE(report.error) << report.error->what();
      for (const Finding &finding : report.findings)
        ADD_FAILURE() << finding.text();
      for (uint8_t status : simulator.bytes(statuses))
        ASSERT_EQ(status, 0) << "somebody did not come";
      for (uint32_t rank = 0; rank < world; ++rank)
        ASSERT_EQ(std::memcmp(simulator.bytes(results[rank]).data(), expected.data(), 2 * count), 0)
            << "rank " << rank << ", epoch " << epoch;
    }
  }

  static constexpr uint32_t world = 8, count = 1600, blocks = 2;
  Simulator simulator;
  LoadedObject &loaded;
  std::array<uint64_t, world> results, inputs;
  uint64_t tableAt, inputsAt, statuses;
};

TEST_P(AllReduceOfDevices, OneShot) {
  reduce("one_shot");
}
TEST_P(AllReduceOfDevices, TwoShot) {
  reduce("two_shot");
}

std::vector<Way> allWays() {
  std::vector<Way> ways;
  for (const char *chip : {"gfx942", "gfx950"})
    for (auto [policy, schedule] : {std::pair{Policy::Earliest, Schedule::RunToBlock},
                                    {Policy::Latest, Schedule::LeapFrog},
                                    {Policy::Reordered, Schedule::Frozen},
                                    {Policy::Reordered, Schedule::RunToBlock},
                                    {Policy::Earliest, Schedule::Frozen},
                                    {Policy::Latest, Schedule::Frozen},
                                    {Policy::Random, Schedule::Random}})
      ways.push_back({chip, policy, schedule});
  return ways;
}
INSTANTIATE_TEST_SUITE_P(All, AllReduceOfDevices, testing::ValuesIn(allWays()), [](const auto &info) {
  std::string name = info.param.chip + "_" + nameOf(info.param.policy) + "_" + nameOf(info.param.schedule);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

} // namespace
} // namespace heddle::simulator
