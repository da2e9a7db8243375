// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives whose ranks are real processes: the same bits as the reference, and what happens when a process is
// killed, stopped, leaves, aborts, fails or asks for something else.
#include "support/TestError.h"
#include "tests/multi_device/RankRun.h"
#include <thread>

using namespace heddle;
using namespace heddle::testing;

namespace {

Plan allReduce(int ranks, const char *algorithm, int64_t inner = 40) {
  return planOf(findAlgorithm(CollectiveKind::AllReduce, algorithm), ranks, inner);
}

/// What several tests run.
class Processes : public ::testing::Test {
protected:
  static void SetUpTestSuite() {
    for (const char *algorithm : {"one_shot_pull", "two_shot_packets", "two_shot_pull", "one_shot_packets"})
      compiled(allReduce(3, algorithm));
    for (int ranks : {2, 3})
      compiled(allReduce(ranks, "one_shot_pull"));
    compiled(allReduce(2, "two_shot_pull"));
    compiled(planOf(findAlgorithm(CollectiveKind::AllGather, "gather_pull"), 2, 40));
  }
};

/// Says how many are right, with two inputs each, after the second of two calls.
void runPlans(const TestRank &self, const std::vector<Plan> &plans) {
  auto group = join(self);
  int right = 0;
  for (const Plan &plan : plans)
    for (uint64_t seed : {1, 2}) {
      RankRun run(*group, self.rank, plan, seed);
      run.launch();
      run.launch();
      std::string difference = run.difference();
      right += difference.empty();
      if (!difference.empty())
        self.say(std::string(plan.algorithm->name) + ": " + difference);
    }
  self.say(std::to_string(right) + " right");
}

TEST_F(Processes, EveryAlgorithmGivesTheBitsOfTheReference) {
  for (int size : {2, 3, 8}) {
    std::vector<Plan> plans;
    for (const Algorithm *algorithm : allAlgorithms()) {
      bool isPacketsOrPull = algorithm == &oneShotPackets || algorithm == &twoShotPull;
      if (algorithm->direct || (size != 3 && !isPacketsOrPull))
        continue;
      plans.push_back(compiled(planOf(*algorithm, size, size == 8 ? 200 : 3000)));
    }
    TestProcesses processes(size, [&](const TestRank &self) { runPlans(self, plans); });
    for (int rank = 0; rank < size; ++rank)
      EXPECT_EQ(processes.finish(rank), std::to_string(2 * plans.size()) + " right\n") << rank << " of " << size;
  }
}

// Their operands' addresses mean nothing in another process: results would be wrong without an error.
TEST_F(Processes, DirectAlgorithmsAreRefused) {
  TestProcesses processes(2, [](const TestRank &self) {
    auto group = join(self);
    for (const Algorithm *algorithm : allAlgorithms())
      if (algorithm->direct)
        try {
          group->prepare(planOf(*algorithm, 2, 3000));
          self.say(std::string(algorithm->name) + " is not refused");
        } catch (const Error &error) {
          if (error.kind != ErrorClass::Input)
            self.say(error.what());
        }
    group->prepare(planOf(oneShotPull, 2, 3000), Package(), "of a kernel"); // is loaded first, and that fails
  });
  for (int rank : {0, 1})
    EXPECT_TRUE(processes.finish(rank).starts_with("error: ")) << processes.text(rank);
}

TEST_F(Processes, LeaveNothingBehind) {
  TestProcesses processes(3, [](const TestRank &self) {
    auto device = openDevice("host:" + std::to_string(self.rank));
    OpenResources before = OpenResources::count();
    {
      auto bootstrap = self.bootstrap();
      Communicator group(std::make_unique<ProcessGroup>(*bootstrap, device), deadline(10));
      RankRun run(group, self.rank, allReduce(3, "two_shot_pull"), 1);
      run.launch();
      self.say(run.difference() + "+");
    }
    OpenResources after = OpenResources::count();
    if (after.files + (self.rank == 0 ? 2 : 1) != before.files || after.sharedMappings != 0)
      self.say("left behind: " + std::to_string(after.files) + " files of " + std::to_string(before.files) + ", " +
               std::to_string(after.sharedMappings) + " mappings");
  });
  for (int rank : {0, 1, 2})
    EXPECT_EQ(processes.finish(rank), "+\n");
}

double timeIn(const std::string &text) {
  size_t at = text.find("at ");
  return at == std::string::npos ? 0 : std::stod(text.substr(at + 3));
}

/// Rank 2 does not launch after the first call; the others wait for it.
void waitForRankTwo(const TestRank &self, const char *algorithm, double seconds) {
  auto group = join(self, seconds);
  RankRun run(*group, self.rank, allReduce(3, algorithm), 2);
  run.launch();
  self.say("first" + run.difference());
  if (self.rank == 2)
    ::pause();
  try {
    run.launch();
    group->synchronize();
  } catch (const Error &error) {
    self.say("at " + std::to_string(now()));
    self.say(std::string("error: ") + error.what());
    for (const std::string &note : error.notes)
      self.say("note: " + note);
  }
  try {
    run.launch();
  } catch (const Error &error) {
    self.say(std::string("refused: ") + error.what());
  }
}

TEST_F(Processes, ADeathEndsTheCallsOfTheOthers) {
  for (const char *algorithm : {"one_shot_pull", "two_shot_packets"}) {
    TestProcesses processes(3, [=](const TestRank &self) { waitForRankTwo(self, algorithm, 3600); });
    for (int rank : {0, 1, 2})
      processes.waitFor(rank, "first");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    double killed = heddle::testing::now();
    processes.signal(2, SIGKILL);
    std::string gone = "rank 2 (host:2, pid " + std::to_string(processes.pid(2)) + ") is gone";
    for (int rank : {0, 1}) {
      std::string text = processes.finish(rank);
      EXPECT_CONTAINS(text, "error: " + gone);
      EXPECT_CONTAINS(text, "launch 2: rank " + std::to_string(rank) + " (host:" + std::to_string(rank) +
                                ") was aborted while waiting");
      EXPECT_CONTAINS(text, "refused: " + gone);
      EXPECT_LT(timeIn(text) - killed, 2) << text; // milliseconds, on a machine that has nothing else to do
    }
  }
}

TEST_F(Processes, AStoppedProcessIsNamedAtTheDeadlineAndRefusedLater) {
  TestProcesses processes(3, [](const TestRank &self) {
    auto group = join(self, 0.4);
    RankRun run(*group, self.rank, allReduce(3, "one_shot_pull"), 2);
    run.launch();
    self.say("first" + run.difference());
    if (self.rank == 2)
      ::raise(SIGSTOP);
    run.launch();
    group->synchronize();
  });
  for (int rank : {0, 1, 2})
    processes.waitFor(rank, "first");
  for (int rank : {0, 1}) {
    std::string text = processes.finish(rank);
    EXPECT_CONTAINS(text, "launch 2: rank ");
    EXPECT_CONTAINS(text, "for rank 2 (host:2), block 0: expected epoch ");
  }
  processes.signal(2, SIGCONT);
  EXPECT_CONTAINS(processes.finish(2), "error: ");
}

TEST_F(Processes, DifferentPlansAreRefusedOnAllRanks) {
  TestProcesses processes(3, [](const TestRank &self) {
    auto group = join(self);
    Plan plan = allReduce(3, "one_shot_pull", self.rank == 1 ? 41 : 40);
    try {
      group->prepare(plan);
    } catch (const Error &error) {
      self.say(std::to_string(int(error.kind)) + " " + error.what());
      for (const std::string &note : error.notes)
        self.say(note);
    }
    RankRun run(*group, self.rank, allReduce(3, "one_shot_pull"), 1); // the group goes on
    run.launch();
    self.say("then" + run.difference());
  });
  for (int rank : {0, 1, 2}) {
    std::string text = processes.finish(rank);
    EXPECT_CONTAINS(text, "2 rank 1 (host:1, pid " + std::to_string(processes.pid(1)) +
                              ") prepares something else than rank 0");
    for (int64_t inner : {40, 41})
      EXPECT_CONTAINS(text, planKey(allReduce(3, "one_shot_pull", inner)));
    EXPECT_CONTAINS(text, "then\n");
  }
}

TEST_F(Processes, ADifferentLaunchIsFoundAtTheLaunch) {
  TestProcesses processes(2, [](const TestRank &self) {
    auto group = join(self, 3600);
    RankRun reduce(*group, self.rank, allReduce(2, "one_shot_pull"), 1);
    RankRun gather(*group, self.rank, planOf(findAlgorithm(CollectiveKind::AllGather, "gather_pull"), 2, 40), 1);
    self.say("ready");
    if (self.rank == 1)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    self.rank == 0 ? reduce.launch() : gather.launch();
    group->synchronize();
  });
  std::string first = processes.finish(0), second = processes.finish(1);
  EXPECT_CONTAINS(second, "error: launch 1 of rank 1 is `all-gather");
  EXPECT_CONTAINS(second, "but rank 0 (host:0, pid " + std::to_string(processes.pid(0)) + ") launched `all-reduce");
  EXPECT_CONTAINS(first, "ended the group: launch 1 of rank 1 is `all-gather");
}

TEST_F(Processes, AnErrorOfOneRankIsToldToAll) {
  TestProcesses processes(3, [](const TestRank &self) {
    if (self.rank == 1)
      ::setenv("HEDDLE_HOST_MEMORY", "256K", 1);
    auto group = join(self);
    try {
      group->prepare(allReduce(3, "one_shot_pull", 1 << 20));
    } catch (const Error &error) {
      self.say(std::to_string(int(error.kind)) + " " + error.what());
    }
    RankRun run(*group, self.rank, allReduce(3, "one_shot_pull"), 1); // the group goes on
    run.launch();
    self.say("then" + run.difference());
  });
  for (int rank : {0, 1, 2}) {
    std::string text = processes.finish(rank);
    EXPECT_CONTAINS(text, rank == 1 ? "3 host:1: out of memory" : "3 rank 1 (host:1, pid ");
    EXPECT_CONTAINS(text, "out of memory: buffer `collective");
    EXPECT_CONTAINS(text, "then\n");
  }
}

TEST_F(Processes, LeaveInOrderAndOutOfOrder) {
  TestProcesses processes(3, [](const TestRank &self) {
    auto group = join(self, 3600);
    Plan plan = allReduce(3, "one_shot_packets");
    for (uint64_t seed : {1, 2}) {
      RankRun run(*group, self.rank, plan, seed);
      run.launch();
      self.say(run.difference() + "+");
    }
    if (self.rank == 0)
      return; // the others make one more call
    RankRun more(*group, self.rank, plan, 3);
    more.launch();
    group->synchronize();
  });
  EXPECT_EQ(processes.finish(0), "+\n+\n");
  for (int rank : {1, 2}) {
    std::string text = processes.finish(rank);
    EXPECT_CONTAINS(text, "+\n"); // the second call too, unless the other one launched its third before this ended
    EXPECT_CONTAINS(text, "error: ");
    EXPECT_TRUE(text.find("has left the group after 2 launches") != std::string::npos ||
                text.find("has ended the group") != std::string::npos ||
                text.find("was aborted while waiting") != std::string::npos)
        << text;
  }
}

// Those that are left make a group of their own, with a bootstrap that they had agreed on.
TEST_F(Processes, TheSurvivorsMakeANewGroup) {
  std::string name = "unix:@heddle-test-survivors-" + std::to_string(::getpid());
  TestProcesses processes(3, [=](const TestRank &self) {
    waitForRankTwo(self, "one_shot_pull", 3600);
    BootstrapOptions options;
    options.address = name, options.rank = self.rank, options.size = 2, options.seconds = 20;
    auto bootstrap = makeBootstrap(options);
    Communicator group(std::make_unique<ProcessGroup>(*bootstrap, openDevice("host:" + std::to_string(self.rank))),
                       deadline(20));
    RankRun run(group, self.rank, allReduce(2, "two_shot_pull"), 1);
    run.launch();
    self.say("again" + run.difference());
  });
  for (int rank : {0, 1, 2})
    processes.waitFor(rank, "first");
  processes.signal(2, SIGKILL);
  for (int rank : {0, 1})
    EXPECT_CONTAINS(processes.finish(rank), "again\n");
}

TEST_F(Processes, RefuseDevicesThatDoNotFit) {
  TestProcesses processes(2, [](const TestRank &self) {
    addSimulatedDrivers();
    auto bootstrap = self.bootstrap();
    ProcessGroup group(*bootstrap, openDevice(self.rank ? "sim:gfx942:0" : "host:0"));
  });
  for (int rank : {0, 1})
    EXPECT_CONTAINS(processes.finish(rank), "of chip gfx942");
  TestProcesses simulated(2, [](const TestRank &self) {
    addSimulatedDrivers();
    auto bootstrap = self.bootstrap();
    ProcessGroup group(*bootstrap, openDevice("sim:gfx942:" + std::to_string(self.rank)));
  });
  for (int rank : {0, 1})
    EXPECT_CONTAINS(simulated.finish(rank), "the sim:gfx942 devices have no memory that 2 processes can share");
}

} // namespace
