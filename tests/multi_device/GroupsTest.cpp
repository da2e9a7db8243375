// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Groups of any devices in any order, several at once, sharing devices.
#include "tests/multi_device/Cases.h"
#include <thread>

using namespace heddle;
using namespace heddle::testing;

namespace {

const PlanOptions smallTiles = {"", 2, 16, 2};

Plan planOf(CollectiveKind kind, int ranks, const char *algorithm, int64_t inner = 150) {
  PlanOptions options = smallTiles;
  options.algorithm = algorithm;
  return makePlan(makeCollective(kind, ranks, 1, inner), chipUnderTest(), options);
}

/// One group with its run.
struct Member {
  Communicator communicator;
  CheckedRun run;
  Member(const std::vector<int> &ordinals, CollectiveKind kind, const char *algorithm, uint64_t seed)
      : communicator(openDevices(ordinals)), run(communicator, planOf(kind, int(ordinals.size()), algorithm), seed) {}
};

TEST(Groups, OfAnyDevicesInAnyOrder) {
  for (const std::vector<int> &ordinals :
       {std::vector<int>{3, 1}, {7, 0, 5}, {6, 5, 4, 3}, {0}, {63, 2}, {7, 6, 5, 4, 3, 2, 1, 0}}) {
    if (!hasDevices(1 + *std::max_element(ordinals.begin(), ordinals.end())))
      continue;
    Member reduce(ordinals, CollectiveKind::AllReduce, "one_shot_pull", 1);
    Member gather(ordinals, CollectiveKind::AllGather, "gather_push", 2);
    for (Member *member : {&reduce, &gather}) {
      member->run.run();
      member->run.expectRight();
    }
  }
}

TEST(Groups, SeveralOfUnequalSizeAtOnce) {
  HEDDLE_WANTS_DEVICES(8);
  const std::vector<std::vector<int>> groups = {{3, 1}, {7, 0, 5}, {2}, {4, 6}};
  std::vector<std::unique_ptr<Member>> members;
  for (const auto &ordinals : groups)
    members.push_back(
        std::make_unique<Member>(ordinals, CollectiveKind::AllReduce, "one_shot_packets", ordinals.size()));
  for (int rank : {2, 0, 1}) // each group is completed only after all have begun
    for (const auto &member : members)
      if (rank < member->communicator.ranks())
        member->run.launch(rank);
  for (const auto &member : members) {
    member->communicator.synchronize();
    member->run.expectRight();
  }
}

// Were the groups of a device to wait for each other, this would be a circle.
TEST(Groups, ADeviceInTwoGroupsAtOnce) {
  HEDDLE_WANTS_DEVICES(3);
  Member first({0, 1}, CollectiveKind::AllReduce, "one_shot_pull", 1);
  Member second({1, 2}, CollectiveKind::AllReduce, "one_shot_pull", 2);
  Member third({2, 0}, CollectiveKind::AllReduce, "one_shot_pull", 3);
  for (Member *member : {&first, &second, &third})
    member->run.launch(0);
  for (Member *member : {&third, &second, &first})
    member->run.launch(1);
  for (Member *member : {&first, &second, &third}) {
    member->communicator.synchronize();
    member->run.expectRight();
  }
}

// The same device twice in one group: two streams, two ranks.
TEST(Groups, ADeviceTwiceInOneGroup) {
  HEDDLE_WANTS_DEVICES(2);
  Member member({1, 1, 0}, CollectiveKind::AllReduce, "one_shot_pull", 3);
  member.run.run();
  member.run.expectRight();
}

TEST(Groups, TwoOnTheSameDevicesAtOnceManyTimes) {
  HEDDLE_WANTS_DEVICES(4);
  constexpr int times = 150;
  auto work = [](const char *algorithm, uint64_t seed) {
    Communicator communicator(openDevices({0, 1, 2, 3}));
    Plan plan = planOf(CollectiveKind::AllReduce, 4, algorithm);
    for (int time = 0; time < times; ++time) {
      CheckedRun run(communicator, plan, seed + uint64_t(time));
      run.run();
      run.expectRight();
    }
  };
  std::thread one(work, "two_shot_pull", 1000), other(work, "one_shot_packets", 2000);
  one.join();
  other.join();
}

// Each rank's thread may prepare what it launches.
TEST(Groups, OneOperationForAllThreads) {
  HEDDLE_WANTS_DEVICES(4);
  for (int time = 0; time < 10; ++time) {
    Communicator communicator(openDevices({0, 1, 2, 3}));
    Plan plan = planOf(CollectiveKind::AllReduce, 4, "one_shot_pull");
    std::vector<Communicator::Operation *> seen(4);
    std::vector<std::thread> threads;
    for (auto &operation : seen)
      threads.emplace_back([&] { operation = &communicator.prepare(plan); });
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_EQ(seen, std::vector<Communicator::Operation *>(4, seen[0]));
  }
}

// All is launched before anything is waited for, by one thread, in orders that differ from rank to rank.
TEST(Groups, TwoOnTheSameDevicesInDifferentOrders) {
  HEDDLE_WANTS_DEVICES(4);
  std::vector<std::unique_ptr<Member>> members;
  for (uint64_t number = 0; number < 12; ++number)
    members.push_back(std::make_unique<Member>(std::vector<int>{0, 1, 2, 3}, CollectiveKind::AllReduce,
                                               number % 2 ? "two_shot_pull" : "one_shot_packets", number));
  for (int rank = 0; rank < 4; ++rank)
    for (size_t i = 0; i < members.size(); ++i)
      members[rank % 2 ? i : members.size() - 1 - i]->run.launch(rank);
  for (const auto &member : members) {
    member->communicator.synchronize();
    member->run.expectRight();
  }
}

} // namespace
