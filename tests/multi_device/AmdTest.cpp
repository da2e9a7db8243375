// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every algorithm of every collective on 4 and 8 simulated AMD devices, under several schedules with
// all checks: the results are the reference's, and no check finds anything (a finding is an error of the call).
// HEDDLE_TEST_LONG=1 takes both numbers of devices on both chips, more types, sizes and schedules.
#include "tests/multi_device/AmdDevices.h"
#include "tests/multi_device/CollectiveRunner.h"
#include "tests/multi_device/FirstEpoch.h"

using namespace heddle;
using namespace heddle::testing;

namespace {

struct Order {
  const char *policy, *schedule;
  uint64_t seeds;
};

std::vector<Order> orders() {
  if (!isLong())
    return {{"earliest", "leap-frog", 1}, {"latest", "round-robin", 1}, {"random", "random", 1}};
  std::vector<Order> all;
  for (const char *schedule : {"run-to-block", "round-robin", "leap-frog", "frozen"})
    for (const char *policy : {"earliest", "latest", "reordered"})
      all.push_back({policy, schedule, schedule[0] == 'l' || schedule[0] == 'f' ? 3u : 1u});
  all.push_back({"random", "random", 6});
  return all;
}

struct Machine {
  const char *chip;
  int ranks;
};
class AmdCollectives : public ::testing::TestWithParam<Machine> {
protected:
  const std::string chip = GetParam().chip;
  const int ranks = GetParam().ranks;

  /// Several rounds of several tiles, the last of them cut, two calls one after the other, in every order; some in
  /// place.
  void expectRightInEveryOrder(Communicator &group, const Algorithm &algorithm, CollectiveKind kind, ElementType type,
                               PacketForm packets = PacketForm::LL) {
    PlanOptions options;
    options.algorithm = algorithm.name, options.packets = packets;
    options.blocks = 2, options.tileElements = 64, options.tilesPerRound = 2, options.warps = 1;
    bool isLamport = packets == PacketForm::Lamport;
    if (isLamport) // a word for each lane, and one round
      options.tileElements = 64 * 8 / elementSizeBytes(type), options.tilesPerRound = 8;
    int64_t inner = (algorithm.slices ? ranks : 1) * 300 + 13;
    Plan plan = makePlan(makeCollective(kind, ranks, 1, inner, type), lookupChip(chip), options);
    Plan other = plan; // in the same memory
    if (isLamport)
      other = makePlan(makeCollective(kind, ranks, 1, inner / 4, type), lookupChip(chip), options);
    EXPECT_EQ(kernelKey(other), kernelKey(plan));
    for (const Order &order : orders())
      for (uint64_t seed = 0; seed < order.seeds; ++seed) {
        SCOPED_TRACE(::testing::Message()
                     << algorithm.name << " " << order.policy << " " << order.schedule << " " << seed);
        SimulatedOrder now(order.policy, order.schedule, seed);
        bool inPlace = kind != CollectiveKind::Permute && seed % 2 == 0 && order.policy[0] != 'e';
        std::vector<std::unique_ptr<CheckedRun>> runs;
        for (uint64_t call = 0; call < (isLamport ? 3 : 2); ++call) {
          // Odd ones have special values: packets without flags in every call.
          uint64_t dataSeed = isLamport ? 2 * (seed + call) + 1 : 2 * seed + call;
          runs.push_back(
              std::make_unique<CheckedRun>(group, call == 1 ? other : plan, dataSeed, Placement{1, 0, inPlace}));
        }
        for (const auto &run : runs)
          for (int rank = ranks; rank-- > 0;)
            run->launch(rank);
        group.synchronize();
        for (const auto &run : runs)
          run->expectRight();
      }
  }
};

TEST_P(AmdCollectives, AreRightAndCleanInEveryOrder) {
  GroupFromEpoch late(amdDevices(chip, ranks), (uint64_t(1) << 32) - 3);
  Communicator &group = late.communicator;
  const std::vector<ElementType> types = {ElementType::F32, ElementType::BF16, ElementType::I8, ElementType::F64};
  size_t number = 0;
  for (const Algorithm *algorithm : allAlgorithms())
    for (CollectiveKind kind : algorithm->kinds)
      for (size_t count = isLong() ? types.size() : 1; count > 0; --count)
        expectRightInEveryOrder(group, *algorithm, kind, types[number++ % types.size()]);
}

TEST_P(AmdCollectives, PacketsOfLamportsForm) {
  Communicator group(amdDevices(chip, ranks));
  const std::vector<ElementType> types = {ElementType::BF16, ElementType::I32, ElementType::F64, ElementType::F32};
  size_t number = 0;
  for (const Algorithm *algorithm :
       {&oneShotPackets, &twoShotPackets, &scatterPackets, &gatherPackets, &exchangePackets})
    for (size_t count = isLong() ? types.size() : 1; count > 0; --count)
      expectRightInEveryOrder(group, *algorithm, algorithm->kinds[0], types[number++ % types.size()],
                              PacketForm::Lamport);
}

/// What plans choose for small, middle and large calls, with plain buffers and without.
TEST_P(AmdCollectives, AreRightAsPlansHaveThem) {
  Communicator group(amdDevices(chip, ranks));
  SimulatedOrder now("random", "random", 1);
  using K = CollectiveKind;
  for (K kind : {K::AllReduce, K::AllGather, K::ReduceScatter, K::AllToAll, K::Permute, K::Broadcast})
    for (int64_t inner : isLong() ? std::vector<int64_t>{100, 5'000, 60'000} : std::vector<int64_t>{100, 3'000})
      for (bool direct : {false, true}) {
        PlanOptions options;
        options.direct = direct;
        Collective collective = makeCollective(kind, ranks, 1, inner);
        CheckedRun run(group, makePlan(collective, lookupChip(chip), options), uint64_t(inner));
        run.run();
        run.expectRight();
      }
}

// A chip changes the instructions, the number of ranks what a rank does: each of the two, but each pair only at length.
std::vector<Machine> machines() {
  if (!isLong())
    return {{"gfx950", 4}, {"gfx942", 8}};
  return {{"gfx942", 4}, {"gfx950", 4}, {"gfx942", 8}, {"gfx950", 8}};
}

INSTANTIATE_TEST_SUITE_P(, AmdCollectives, ::testing::ValuesIn(machines()), [](const auto &info) {
  return std::string(info.param.chip) + "x" + std::to_string(info.param.ranks);
});

} // namespace
