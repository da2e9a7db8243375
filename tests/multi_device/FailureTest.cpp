// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranks that do not come, come late, stop in between or ask for something else: every other rank is told, nothing
// hangs, and the devices go on working. The long deadlines here would outlast the test: only an abort ends those waits.
#include "tests/multi_device/Cases.h"
#include "tests/multi_device/FirstEpoch.h"
#include <chrono>
#include <thread>

using namespace heddle;
using namespace heddle::testing;

namespace {

constexpr double forEver = 3600;
const PlanOptions smallTiles = {"", 1, 16, 1};

Communicator::Options deadline(double seconds) {
  Communicator::Options options;
  options.deadlineSeconds = seconds;
  return options;
}

PlanOptions by(const char *algorithm) {
  PlanOptions options = smallTiles;
  options.algorithm = algorithm;
  return options;
}

Plan allReduce(int ranks, const char *algorithm, int64_t inner = 40, ElementType type = ElementType::F32) {
  return makePlan(makeCollective(CollectiveKind::AllReduce, ranks, 1, inner, type), chipUnderTest(), by(algorithm));
}

/// A device in messages.
std::string place(int ordinal) {
  return "(" + testDriver() + ":" + std::to_string(ordinal) + ")";
}

void sleepSeconds(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

void expectTheDevicesWork(const std::vector<int> &ordinals) {
  Communicator communicator(openDevices(ordinals));
  CheckedRun run(communicator, allReduce(int(ordinals.size()), "one_shot_pull"), 5);
  run.run();
  run.expectRight();
}

std::string failureOf(Communicator &communicator) {
  return errorOf(ErrorClass::Environment, [&] { communicator.synchronize(); });
}

TEST(Failures, ARankThatNeverArrives) {
  HEDDLE_WANTS_DEVICES(4);
  const int first = hasDevices(8) ? 4 : 0;
  const std::vector<int> ordinals = {first, first + 1, first + 2, first + 3};
  for (const Algorithm *algorithm : allAlgorithms()) {
    Collective collective = makeCollective(algorithm->kinds[0], 4, 1, 40);
    Communicator communicator(openDevices(ordinals), deadline(0.15));
    CheckedRun run(communicator, makePlan(collective, chipUnderTest(), by(algorithm->name)), 2);
    for (int rank : {0, 1, 3})
      run.launch(rank);
    std::string report = failureOf(communicator);
    std::string name = "`" + describe(collective) + "`, launch 1: rank ";
    for (int rank : {0, 1, 3})
      expectContains(report, name + std::to_string(rank) + " " + place(first + rank) + " waited ");
    expectContains(report, "s for rank 2 " + place(first + 2) + ", block 0: expected epoch ");
    expectContains(errorOf(ErrorClass::Environment, [&] { run.launch(0); }), "the group has failed before");
  }
  expectTheDevicesWork(ordinals);
}

/// The message has the epoch of the round; and that the epochs of FirstEpoch.h are those of the kernel is seen here.
TEST(Failures, NameTheEpochThatDoesNotCome) {
  HEDDLE_WANTS_DEVICES(2);
  for (uint64_t firstEpoch : {uint64_t(1), uint64_t(1) << 32}) {
    GroupFromEpoch group(openDevices({0, 1}), firstEpoch, deadline(0.15));
    CheckedRun run(group.communicator, allReduce(2, "one_shot_pull"), 2);
    run.launch(0);
    expectContains(failureOf(group.communicator),
                   "for rank 1 " + place(1) + ", block 0: expected epoch " + std::to_string(firstEpoch) + ", saw 0");
  }
}

// A wait ends with its deadline whatever the number of packets that do not come. The limit here tells an end from a
// wait per packet, which would take minutes.
TEST(Failures, ManyPacketsThatNeverArrive) {
  HEDDLE_WANTS_DEVICES(3);
  HEDDLE_WANTS_REAL_TIME();
  for (const Algorithm *algorithm : {&oneShotPackets, &twoShotPackets})
    for (PacketForm packets : {PacketForm::LL, PacketForm::Lamport}) {
      Collective collective = makeCollective(CollectiveKind::AllReduce, 3, 1, 1 << 16);
      Communicator communicator(openDevices({0, 1, 2}), deadline(0.1));
      PlanOptions options;
      options.algorithm = algorithm->name;
      options.packets = packets, options.tilesPerRound = 1 << 10;
      options.computeUnits = communicator.computeUnits();
      CheckedRun run(communicator, makePlan(collective, chipUnderTest(), options), 2);
      auto start = std::chrono::steady_clock::now();
      run.launch(0);
      expectContains(failureOf(communicator), "rank 0 " + place(0) + " waited ");
      EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20)) << algorithm->name;
    }
}

/// With room for all in one round.
Plan lamportPlan(int ranks) {
  PlanOptions options = {"one_shot_packets", 1, 4 * 64 * 2, 1, 4}; // two f32 for each lane of four warps, on any chip
  options.packets = PacketForm::Lamport;
  return makePlan(makeCollective(CollectiveKind::AllReduce, ranks, 1, 40), chipUnderTest(), options);
}

// No rank takes an earlier call's packets for those of a later one: who has missed some sends nothing any more.
TEST(Failures, PacketsWithoutFlagsOfALaterCall) {
  HEDDLE_WANTS_DEVICES(3);
  HEDDLE_WANTS_REAL_TIME();
  Communicator communicator(openDevices({0, 1, 2}), deadline(0.1));
  CheckedRun run(communicator, lamportPlan(3), 2);
  for (int call = 0; call < 3; ++call)
    for (int rank : {0, 2})
      run.launch(rank);
  sleepSeconds(1);
  for (int call = 0; call < 3; ++call)
    run.launch(1);
  std::string report = failureOf(communicator);
  for (int rank : {0, 2})
    expectContains(report, "launch 1: rank " + std::to_string(rank) + " " + place(rank) + " waited ");
  expectContains(report, "s for rank 1 " + place(1) + ", block 0: expected epoch ");
  expectContains(report, "launch 2: rank 1 " + place(1) + " waited ");
  expectTheDevicesWork({0, 1, 2});
}

TEST(Failures, ALateRankIsWaitedFor) {
  HEDDLE_WANTS_DEVICES(3);
  std::vector<Plan> plans = {allReduce(3, "one_shot_packets"), allReduce(3, "two_shot_pull"), lamportPlan(3)};
  for (const Plan &plan : plans) {
    Communicator communicator(openDevices({0, 1, 2}), deadline(forEver));
    CheckedRun run(communicator, plan, 7);
    run.launch(0);
    run.launch(2);
    sleepSeconds(1);
    run.launch(1);
    communicator.synchronize();
    run.expectRight();
  }
}

TEST(Failures, ARankThatIsTooLate) {
  HEDDLE_WANTS_DEVICES(3);
  HEDDLE_WANTS_REAL_TIME();
  for (const char *algorithm : {"one_shot_packets", "two_shot_pull"}) {
    Communicator communicator(openDevices({0, 1, 2}), deadline(0.1));
    CheckedRun run(communicator, allReduce(3, algorithm), 7);
    run.launch(0);
    run.launch(2);
    sleepSeconds(1);
    run.launch(1);
    std::string report = failureOf(communicator);
    expectContains(report, "rank 0 " + place(0) + " waited");
    expectContains(report, "rank 2 " + place(2) + " waited");
    expectContains(report, "for rank 1 " + place(1));
  }
  expectTheDevicesWork({0, 1, 2});
}

// What the failed call told the late rank stays as it is, though the others have more calls queued after it: so it gets
// through that call, and misses them in the next one.
TEST(Failures, ARankThatIsTooLateForTwoCalls) {
  HEDDLE_WANTS_DEVICES(3);
  HEDDLE_WANTS_REAL_TIME();
  Communicator communicator(openDevices({0, 1, 2}), deadline(0.1));
  Plan plan = allReduce(3, "two_shot_direct");
  CheckedRun first(communicator, plan, 7), second(communicator, plan, 8);
  for (int rank : {0, 2}) {
    first.launch(rank);
    second.launch(rank);
  }
  sleepSeconds(1);
  first.launch(1);
  second.launch(1);
  std::string report = failureOf(communicator);
  expectContains(report, "launch 1: rank 0 " + place(0) + " waited");
  expectContains(report, "launch 1: rank 2 " + place(2) + " waited");
  expectContains(report, "launch 2: rank 1 " + place(1) + " waited");
  expectTheDevicesWork({0, 1, 2});
}

TEST(Failures, ARankThatStopsBetweenTwoCalls) {
  HEDDLE_WANTS_DEVICES(3);
  for (const char *algorithm : {"one_shot_packets", "one_shot_pull"}) {
    // Long enough that the first call succeeds on any machine.
    Communicator communicator(openDevices({0, 1, 2}), deadline(1));
    CheckedRun first(communicator, allReduce(3, algorithm), 1), second(communicator, allReduce(3, algorithm), 2);
    for (int rank : {0, 1, 2})
      first.launch(rank);
    communicator.synchronize();
    first.expectRight();
    second.launch(0);
    second.launch(2);
    std::string report = failureOf(communicator);
    expectContains(report, "launch 2: rank 0 " + place(0) + " waited");
    expectContains(report, "launch 2: rank 2 " + place(2) + " waited");
    expectContains(report, "for rank 1 " + place(1));
  }
  expectTheDevicesWork({0, 1, 2});
}

// Work of the user's in the stream of a rank throws: its collective is skipped, and the others are not kept.
TEST(Failures, ARankThatDiesBeforeItsCollective) {
  HEDDLE_WANTS_DEVICES(3);
  Communicator communicator(openDevices({0, 1, 2}), deadline(0.15));
  CheckedRun run(communicator, allReduce(3, "one_shot_pull"), 1);
  communicator.stream(1).hostFunction([] { throw environmentError("the disk is full"); });
  for (int rank : {0, 1, 2})
    run.launch(rank);
  expectContains(failureOf(communicator), "the disk is full");
  expectContains(errorOf(ErrorClass::Environment, [&] { run.launch(0); }), "the group has failed before");
  expectTheDevicesWork({0, 1, 2});
}

// The first wait that fails ends the group: were each of these calls to wait for itself, they would take an hour.
TEST(Failures, ManyCallsThatOneRankDoesNotMake) {
  HEDDLE_WANTS_DEVICES(2);
  HEDDLE_WANTS_REAL_TIME();
  Communicator communicator(openDevices({0, 1}), deadline(2));
  Plan plan = allReduce(2, "two_shot_packets");
  CheckedRun first(communicator, plan, 1);
  for (int call = 0; call < 1800; ++call)
    first.launch(0);
  std::string report = failureOf(communicator);
  expectContains(report, "launch 1: rank 0 " + place(0) + " waited");
  expectTheDevicesWork({1, 0});
}

struct Disagreement {
  Plan mine, theirs;
};

TEST(Failures, RanksThatAskForDifferentThings) {
  HEDDLE_WANTS_DEVICES(4);
  Collective gather = makeCollective(CollectiveKind::AllGather, 2, 1, 40);
  const std::vector<Disagreement> cases = {
      {allReduce(2, "one_shot_pull", 40), allReduce(2, "one_shot_pull", 41)},
      {allReduce(2, "one_shot_pull", 40), allReduce(2, "one_shot_pull", 40, ElementType::F16)},
      {allReduce(2, "one_shot_pull", 40), allReduce(2, "two_shot_pull", 40)},
      {allReduce(2, "one_shot_packets", 40), makePlan(gather, chipUnderTest(), by("gather_packets"))},
      {allReduce(2, "one_shot_pull", 40), allReduce(2, "one_shot_pull", 0)},
  };
  for (const Disagreement &each : cases) {
    Communicator communicator(openDevices({2, 3}), deadline(forEver));
    CheckedRun mine(communicator, each.mine, 1), theirs(communicator, each.theirs, 1);
    mine.launch(0);
    std::string report = errorOf(ErrorClass::Input, [&] { theirs.launch(1); });
    for (const Plan &plan : {each.mine, each.theirs}) {
      expectContains(report, "`" + describe(plan.collective) + "` (" + plan.algorithm->name + ")");
      expectContains(report, planKey(plan));
    }
    expectContains(report, "launch 1 of rank 1 is");
    std::string other = failureOf(communicator);
    expectContains(other, "launch 1: rank 0 " + place(2) + " was aborted while waiting");
    expectContains(other, "for rank 1 " + place(3));
  }
  expectTheDevicesWork({2, 3});
}

TEST(Failures, ADifferentOrderOfTheSameCalls) {
  HEDDLE_WANTS_DEVICES(3);
  Communicator communicator(openDevices({0, 1, 2}), deadline(forEver));
  CheckedRun reduce(communicator, allReduce(3, "one_shot_pull"), 1);
  CheckedRun gather(communicator,
                    makePlan(makeCollective(CollectiveKind::AllGather, 3, 1, 40), chipUnderTest(), by("gather_pull")),
                    1);
  for (CheckedRun *run : {&reduce, &gather})
    for (int rank : {0, 1})
      run->launch(rank);
  std::string report = errorOf(ErrorClass::Input, [&] { gather.launch(2); });
  expectContains(report, "launch 1 of rank 2 is `all-gather");
  expectContains(report, "another rank launched `all-reduce");
  expectContains(failureOf(communicator), "was aborted while waiting");
}

TEST(Failures, OperandsThatTheKernelDoesNotHave) {
  HEDDLE_WANTS_DEVICES(2);
  Communicator communicator(openDevices({0, 1}), deadline(forEver));
  Plan plan = allReduce(2, "one_shot_pull");
  CheckedRun run(communicator, plan, 1);
  run.launch(0);
  std::string report = errorOf(ErrorClass::Input, [&] { communicator.launch(communicator.prepare(plan), 1, {}); });
  EXPECT_NE(report, "no error");
  expectContains(failureOf(communicator), "launch 1: rank 0 " + place(0) + " was aborted while waiting");
}

TEST(Failures, AGroupThatGoesWhileARankWaits) {
  HEDDLE_WANTS_DEVICES(3);
  for (const char *algorithm : {"one_shot_packets", "two_shot_pull"}) {
    auto communicator = std::make_unique<Communicator>(openDevices({0, 1, 2}), deadline(forEver));
    CheckedRun first(*communicator, allReduce(3, algorithm), 1), second(*communicator, allReduce(3, algorithm), 2);
    for (int rank : {0, 2}) {
      first.launch(rank);
      second.launch(rank);
    }
    communicator.reset();
  }
  expectTheDevicesWork({0, 1, 2});
}

// Nothing frees the memory of a group that another rank's kernel still uses.
TEST(Failures, AGroupThatGoesAfterTheStreamOfARankFailed) {
  HEDDLE_WANTS_DEVICES(3);
  for (int time = 0; time < 20; ++time) {
    auto communicator = std::make_unique<Communicator>(openDevices({0, 1, 2}), deadline(forEver));
    CheckedRun run(*communicator, allReduce(3, "one_shot_packets"), 1);
    communicator->stream(0).hostFunction([] { throw environmentError("the disk is full"); });
    for (int rank : {0, 1, 2})
      run.launch(rank);
    communicator.reset();
  }
  expectTheDevicesWork({0, 1, 2});
}

TEST(Failures, AbortEndsEveryWait) {
  HEDDLE_WANTS_DEVICES(3);
  Communicator communicator(openDevices({0, 1, 2}), deadline(forEver));
  CheckedRun run(communicator, allReduce(3, "two_shot_packets"), 1);
  run.launch(0);
  run.launch(2);
  communicator.abort();
  std::string report = failureOf(communicator);
  expectContains(report, "rank 0 " + place(0) + " was aborted while waiting");
  expectContains(report, "rank 2 " + place(2) + " was aborted while waiting");
}

// Otherwise it would depend on the moment whether a launch after it still finds the others.
TEST(Failures, AnAbortedGroupRunsNothingAnyMore) {
  HEDDLE_WANTS_DEVICES(2);
  Communicator communicator(openDevices({0, 1}), deadline(forEver));
  CheckedRun run(communicator, allReduce(2, "one_shot_pull"), 1);
  run.run();
  run.expectRight();
  communicator.abort();
  for (int rank : {0, 1})
    expectContains(errorOf(ErrorClass::Environment, [&] { run.launch(rank); }), "the group has failed before");
  communicator.synchronize();
}

} // namespace
