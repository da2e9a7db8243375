// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// That collectives on devices with a link for each pair use all links, alike and at once: what an algorithm says of
// itself (LinkLoads.h), what plans choose by it, and the bytes that the simulator counts.
#include "collectives/LinkLoads.h"
#include "tests/multi_device/AmdDevices.h"
#include <map>
#include <numeric>

using namespace heddle;
using namespace heddle::testing;

namespace {

using K = CollectiveKind;

std::map<std::pair<int, int>, PeerTraffic> trafficOf(const Plan &plan, const std::string &chip) {
  Communicator group(amdDevices(chip, plan.collective.ranks));
  Driver &driver = group.device(0)->driver();
  CheckedRun run(group, plan, 2);
  group.synchronize();
  SimulatedOrder now("earliest", "round-robin", 0, "none");
  TrafficCount count(driver);
  EXPECT_TRUE(count.isOn());
  run.run();
  run.expectRight();
  std::map<std::pair<int, int>, PeerTraffic> traffic;
  for (const PeerTraffic &each : driver.traffic())
    traffic[{each.from, each.to}] = each;
  return traffic;
}

Plan planOfTiles(const Algorithm &algorithm, K kind, int ranks, const std::string &chip, int64_t tiles) {
  PlanOptions options;
  options.algorithm = algorithm.name;
  options.blocks = 2, options.tileElements = 256, options.warps = 1;
  options.tilesPerRound = algorithm.direct ? 0 : tiles / 2;
  int64_t part = options.blocks * options.tileElements * tiles;
  return makePlan(makeCollective(kind, ranks, 1, algorithm.slices ? part * ranks : part), lookupChip(chip), options);
}

double bytesOfLoads(const Plan &plan, int from, int to) {
  LinkLoads loads = linkLoads(*plan.algorithm, plan.collective, plan.packets);
  double parts = 0;
  for (const LinkLoads::Phase &phase : loads.phases)
    parts += phase.parts[size_t(from * plan.collective.ranks + to)];
  return parts * double(plan.sliceElements * elementSizeBytes(plan.collective.type));
}

/// Signals and addresses, beside the data: for each block and round some words to each peer.
constexpr double protocolBytesPerRound = 2 * 2 * (8 + 4 * 8);

class Links : public ::testing::TestWithParam<int> {};

TEST_P(Links, CarryWhatTheAlgorithmSays) {
  int ranks = GetParam();
  for (const Algorithm *algorithm : allAlgorithms())
    for (K kind : algorithm->kinds) {
      SCOPED_TRACE(algorithm->name);
      Plan plan = planOfTiles(*algorithm, kind, ranks, "gfx942", ranks < 8 || isLong() ? 4 : 2);
      auto traffic = trafficOf(plan, "gfx942");
      for (int from = 0; from < ranks; ++from)
        for (int to = 0; to < ranks; ++to) {
          if (from == to)
            continue;
          double expected = bytesOfLoads(plan, from, to), seen = double(traffic[{from, to}].bytes);
          EXPECT_GE(seen, expected) << from << " to " << to;
          EXPECT_LE(seen, expected + double(plan.rounds) * protocolBytesPerRound) << from << " to " << to;
        }
    }
}

/// Also what they carry for the protocol: so no link waits for another one.
TEST_P(Links, OfAllPairsCarryAsMuch) {
  int ranks = GetParam();
  for (const char *chip : {"gfx942", "gfx950"})
    for (K kind : {K::AllReduce, K::AllGather, K::ReduceScatter, K::AllToAll})
      for (int64_t inner : {64, 4096}) {
        SCOPED_TRACE(collectiveName(kind));
        PlanOptions options;
        options.direct = true;
        auto traffic = trafficOf(makePlan(makeCollective(kind, ranks, 1, inner), lookupChip(chip), options), chip);
        ASSERT_EQ(traffic.size(), size_t(ranks * (ranks - 1)));
        for (const auto &[pair, link] : traffic) {
          EXPECT_EQ(link.bytes, traffic.begin()->second.bytes) << pair.first << " to " << pair.second;
          EXPECT_EQ(link.requests, traffic.begin()->second.requests) << pair.first << " to " << pair.second;
        }
      }
}

TEST_P(Links, OfTheSourceCarryABroadcast) {
  int ranks = GetParam();
  auto traffic = trafficOf(planOfTiles(broadcastPull, K::Broadcast, ranks, "gfx950", 4), "gfx950");
  for (int to = 1; to < ranks; ++to)
    EXPECT_EQ((traffic[{0, to}].bytes), (traffic[{0, 1}].bytes)) << to;
  EXPECT_GE((traffic[{0, 1}].bytes), uint64_t(4 * 2 * 256 * 4));
}

/// As plans have it, it goes by slices: those that leave the source, then all between all.
TEST_P(Links, OfAllCarryABroadcastOfPlans) {
  int ranks = GetParam();
  for (const Chip *chip : {&gfx942Chip, &gfx950Chip}) {
    Plan plan = makePlan(makeCollective(K::Broadcast, ranks, 1, 1 << 20), *chip, {});
    EXPECT_EQ(plan.algorithm, &broadcastScatter);
    LinkLoads loads = linkLoads(*plan.algorithm, plan.collective, plan.packets);
    ASSERT_EQ(loads.phases.size(), 2u);
    EXPECT_EQ(loads.phases[0].largest(), 1);
    EXPECT_EQ(loads.phases[1].smallest(ranks), loads.phases[1].largest());
  }
}

/// The least and the greatest part of a link's bytes that one quarter of all bytes has. A quarter is where all is
/// alike.
std::pair<double, double> shareOfAQuarter(const PeerTraffic &link) {
  size_t count = link.windows.size();
  double least = 1, most = 0;
  for (size_t quarter = 0; quarter < 4; ++quarter) {
    auto begin = link.windows.begin() + int64_t(quarter * count / 4);
    auto end = link.windows.begin() + int64_t((quarter + 1) * count / 4);
    double share = double(std::accumulate(begin, end, uint64_t(0))) / double(link.bytes);
    least = std::min(least, share), most = std::max(most, share);
  }
  return {least, most};
}
constexpr double leastShare = 0.125, mostShare = 0.5;

/// While the transfer goes on, each quarter of it uses all links.
TEST_P(Links, AreUsedAtOnce) {
  int ranks = GetParam();
  for (const Algorithm *algorithm : allAlgorithms())
    for (K kind : algorithm->kinds) {
      if (kind == K::Permute || kind == K::Broadcast)
        continue;
      SCOPED_TRACE(algorithm->name);
      auto traffic = trafficOf(planOfTiles(*algorithm, kind, ranks, "gfx942", 32), "gfx942");
      ASSERT_EQ(traffic.size(), size_t(ranks * (ranks - 1)));
      for (const auto &[pair, link] : traffic) {
        ASSERT_GE(link.windows.size(), 32u);
        auto [least, most] = shareOfAQuarter(link);
        EXPECT_GT(least, leastShare) << pair.first << " to " << pair.second;
        EXPECT_LT(most, mostShare) << pair.first << " to " << pair.second;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(, Links, ::testing::Values(4, 8));

/// The check above would find an algorithm that serves one peer after the other.
TEST(LinksOneAfterTheOther, AreNotUsedAtOnce) {
  Algorithm algorithm = gatherPush;
  algorithm.write = [](ProtocolWriter &w, const Collective &collective) {
    for (int k = 1; k <= collective.ranks; ++k)
      w.eachTile([&] { w.store(Rank::own(k), {0, Rank::own()}, w.input(Rank::fixed(0))); });
    w.barrier();
    w.eachTile([&] {
      for (int rank = 0; rank < collective.ranks; ++rank)
        w.output(Rank::fixed(rank), w.load(Rank::own(), {0, Rank::fixed(rank)}));
    });
  };
  Plan plan = planOfTiles(gatherPush, K::AllGather, 4, "gfx942", 64);
  plan.algorithm = &algorithm;
  auto traffic = trafficOf(plan, "gfx942");
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_LT((shareOfAQuarter(traffic[{rank, (rank + 1) % 4}]).first), leastShare) << rank;
}

/// A ring, of permutes, uses a link of each rank only.
TEST(LinksOfARing, AreNotAll) {
  Collective ring = makeCollective(K::Permute, 4, 1, 2048);
  ring.sources = {3, 0, 1, 2};
  auto traffic = trafficOf(makePlan(ring, gfx942Chip, {}), "gfx942");
  for (int rank = 0; rank < 4; ++rank) {
    uint64_t next = traffic[{rank, (rank + 1) % 4}].bytes, other = traffic[{rank, (rank + 2) % 4}].bytes;
    EXPECT_GE(next, 8192u);
    EXPECT_LT(other, 1000u);
  }
}

TEST(LinksOfPlans, EveryPhaseUsesAllOfThem) {
  for (const Chip *chip : {&gfx942Chip, &gfx950Chip})
    for (int ranks = 2; ranks <= 8; ++ranks)
      for (K kind : {K::AllReduce, K::AllGather, K::ReduceScatter, K::AllToAll})
        for (int64_t inner = 64; inner < (int64_t(1) << 28); inner *= 8)
          for (bool direct : {false, true}) {
            PlanOptions options;
            options.direct = direct;
            Plan plan = makePlan(makeCollective(kind, ranks, 1, inner), *chip, options);
            SCOPED_TRACE(describe(plan));
            for (const LinkLoads::Phase &phase : linkLoads(*plan.algorithm, plan.collective, plan.packets).phases)
              EXPECT_EQ(phase.smallest(ranks), phase.largest());
          }
}

TEST(LinksOfPlans, LargeCallsAreDirectAndFillTheLinks) {
  for (const Chip *chip : {&gfx942Chip, &gfx950Chip})
    for (int ranks : {2, 4, 8})
      for (K kind : {K::AllReduce, K::AllGather, K::ReduceScatter, K::AllToAll}) {
        PlanOptions options;
        options.direct = true;
        Plan large = makePlan(makeCollective(kind, ranks, 1, 64 << 20), *chip, options);
        EXPECT_TRUE(large.algorithm->direct || ranks == 2) << large.algorithm->name;
        EXPECT_GE(large.blocks, 12 * (ranks - 1)) << large.algorithm->name;
        Plan small = makePlan(makeCollective(kind, ranks, 1, 64), *chip, options);
        EXPECT_EQ(small.algorithm->barriers, 0) << small.algorithm->name;
      }
}

/// Of more data over faster links a call takes less.
TEST(LinksOfPlans, TheEstimateFollowsTheFullestLink) {
  Collective collective = makeCollective(K::AllReduce, 8, 1, 1 << 20);
  LinkLoads direct = linkLoads(twoShotDirect, collective, PacketForm::LL),
            oneShot = linkLoads(oneShotPull, collective, PacketForm::LL);
  int64_t bytes = int64_t(1) << 22;
  double time = estimateNanoseconds(direct, gfx942Chip.links, bytes / 8);
  EXPECT_LT(time, estimateNanoseconds(oneShot, gfx942Chip.links, bytes));
  EXPECT_LT(estimateNanoseconds(direct, gfx950Chip.links, bytes / 8), time);
  EXPECT_NEAR(time, 1500 + 2500 + 1000 + 2.0 * double(bytes) / 8 / 48, 1);
}

/// Flags and packets are where no cache keeps them, data where caches may.
TEST(Memory, OfFlagsAndPacketsIsApartFromThatOfData) {
  Plan pull = makePlan(makeCollective(K::AllReduce, 4, 1, 100), gfx942Chip, {"two_shot_pull", 0, 0, 0});
  EXPECT_GT(pull.arena.stagingBytes, 0);
  EXPECT_EQ(pull.arena.sizeBytes, pull.arena.inbox) << "no packets";
  Plan packets = makePlan(makeCollective(K::AllReduce, 4, 1, 100), gfx942Chip, {"two_shot_packets", 0, 0, 0});
  EXPECT_EQ(packets.arena.stagingBytes, 0);
  EXPECT_GT(packets.arena.sizeBytes, packets.arena.inbox);
}

/// Which memory was asked for shows when there is not enough of it.
TEST(Memory, ThatRunsOutIsNamedWithItsKind) {
  for (const char *chip : {"gfx942", "gfx950"}) {
    Communicator group(amdDevices(chip, 2));
    auto errorOfLarge = [&](const char *algorithm) {
      Collective collective = makeCollective(K::AllReduce, 2, 1, int64_t(1) << 40);
      Plan plan = makePlan(collective, lookupChip(chip), {algorithm, maxCollectiveBlocks, 1024, 1 << 16, 4});
      return errorOf(ErrorClass::Environment, [&] { group.prepare(plan); });
    };
    expectContains(errorOfLarge("two_shot_packets"),
                   "out of memory: buffer `collective arena of rank 0` asks for 549755");
    expectContains(errorOfLarge("two_shot_packets"), " bytes of uncached memory, ");
    expectContains(errorOfLarge("two_shot_pull"),
                   "out of memory: buffer `collective staging of rank 0` asks for 137438953472 bytes, ");
  }
}

} // namespace
