// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Groups of any devices in any order, several at once, sharing devices.
#include "tests/multi_device/Cases.h"
#include <thread>

using namespace heddle;
using namespace heddle::testing;

namespace heddle {
/// As if ranks of one process had the memory of others at other addresses than these.
struct WindowTestAccess {
  static void shift(Window &window, uint64_t bytes) { window.shifts.assign(window.shifts.size(), bytes); }
};
} // namespace heddle

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

TEST(Groups, ABroadcastFromAnyRank) {
  HEDDLE_WANTS_DEVICES(3);
  Communicator communicator(openDevices({0, 1, 2}));
  for (const char *algorithm : {"broadcast_pull", "broadcast_scatter"})
    for (int root : {1, 2, 0}) {
      Collective collective = makeCollective(CollectiveKind::Broadcast, 3, 1, 150);
      collective.root = root;
      PlanOptions options = smallTiles;
      options.algorithm = algorithm;
      expectRight(communicator, collective, options, uint64_t(root));
    }
  Collective wrong = makeCollective(CollectiveKind::Broadcast, 3, 1, 150);
  wrong.root = 3;
  EXPECT_EQ(errorOf(ErrorClass::Input, [&] { makePlan(wrong, chipUnderTest(), {}); }),
            "broadcast from rank 3: ranks are 0 to 2");
}

// Launches of a rank keep the order of the calls on any streams; other memory keeps others apart.
TEST(Groups, LaunchesIntoStreamsOfTheCaller) {
  HEDDLE_WANTS_DEVICES(2);
  Communicator communicator(openDevices({0, 1}));
  Plan plan = planOf(CollectiveKind::AllReduce, 2, "one_shot_pull");
  Communicator::Operation &first = communicator.prepare(plan), &other = communicator.prepare(plan, "", "another");
  EXPECT_NE(&first, &other);
  EXPECT_EQ(&other, &communicator.prepare(plan, "", "another"));
  auto inputs = reference::randomInputs(plan.collective, 4, false);
  std::vector<std::vector<std::unique_ptr<Stream>>> streams(2);
  std::vector<Buffer> buffers;
  size_t bytes = inputs[0].size();
  for (int rank : {0, 1}) {
    for (int i = 0; i < 3; ++i)
      streams[size_t(rank)].push_back(communicator.device(rank)->createStream());
    buffers.push_back(communicator.device(rank)->allocate(bytes, "in place"));
    streams[size_t(rank)][0]->copyToDevice(buffers.back(), inputs[size_t(rank)].data());
    streams[size_t(rank)][0]->synchronize();
  }
  std::vector<std::string> wanted = inputs;
  for (size_t call = 0; call < 7; ++call) { // each sums what the one of before has left
    for (int rank : {0, 1}) {
      std::vector<LaunchArgument> operands(2, DeviceAddress(buffers[size_t(rank)]));
      Communicator::Operation &operation = call % 3 == 2 ? other : first;
      if (call == 4)
        communicator.launch(operation, rank, operands);
      else
        communicator.launch(operation, rank, operands, *streams[size_t(rank)][call % 3]);
    }
    wanted = reference::runCollective(plan.collective, wanted);
  }
  communicator.synchronize();
  EXPECT_FALSE(communicator.failure());
  for (int rank : {0, 1}) {
    std::string seen(bytes, '\0');
    communicator.stream(rank).copyToHost(seen.data(), buffers[size_t(rank)]);
    communicator.stream(rank).synchronize();
    EXPECT_EQ(reference::firstDifference(plan.collective.type, seen, wanted[size_t(rank)]), "");
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

/// Of each rank two arrays one after the other: its own, and what the others take for it, as far after it as the
/// window's addresses are shifted.
TEST(Groups, OperandsOfOthersInWindowsAreTranslated) {
  HEDDLE_WANTS_DEVICES(3);
  constexpr int ranks = 3;
  constexpr size_t part = 500, words = ranks * part;
  constexpr uint64_t bytes = words * sizeof(int32_t), whole = 2 * bytes;
  for (const char *algorithm : {"gather_direct_pull", "gather_direct_push"}) {
    bool pulls = algorithm == std::string("gather_direct_pull");
    Communicator group(openDevices(firstOrdinals(ranks)));
    PlanOptions options = smallTiles;
    options.algorithm = algorithm, options.windows = true;
    Plan plan =
        makePlan(makeCollective(CollectiveKind::AllGather, ranks, 1, part, ElementType::I32), chipUnderTest(), options);
    std::vector<Buffer> inputs, outputs;
    std::vector<uint64_t> inputsAt, outputsAt;
    for (int rank = 0; rank < ranks; ++rank) {
      inputs.push_back(group.allocate(rank, whole));
      outputs.push_back(group.allocate(rank, whole));
      inputsAt.push_back(inputs.back().address());
      outputsAt.push_back(outputs.back().address());
      std::vector<int32_t> values(2 * words, -1);
      std::fill_n(values.begin(), part, rank);
      std::fill_n(values.begin() + words, part, 100 + rank);
      group.stream(rank).copyToDevice(inputs.back(), values.data());
      group.stream(rank).fill(outputs.back(), 0xFF);
      group.stream(rank).synchronize();
    }
    Window &from = group.registerWindow(inputsAt, whole), &to = group.registerWindow(outputsAt, whole);
    WindowTestAccess::shift(from, bytes);
    WindowTestAccess::shift(to, bytes);
    Communicator::Operation &gather = group.prepare(plan, "", "", {&from, &to});
    for (int rank = 0; rank < ranks; ++rank)
      group.launch(gather, rank, {DeviceAddress(inputsAt[size_t(rank)]), DeviceAddress(outputsAt[size_t(rank)])});
    group.synchronize();
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<int32_t> seen(2 * words), wanted(2 * words, -1);
      group.stream(rank).copyToHost(seen.data(), outputs[size_t(rank)]);
      group.stream(rank).synchronize();
      for (int of = 0; of < ranks; ++of) {
        bool isOther = of != rank;
        size_t at = size_t(of) * part + (isOther && !pulls ? words : 0);
        std::fill_n(wanted.begin() + int64_t(at), part, of + (isOther && pulls ? 100 : 0));
      }
      EXPECT_EQ(seen, wanted) << algorithm << ", rank " << rank;
    }
  }
}

} // namespace
