// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives of processes that play several hosts: the bits of the reference whatever the plan and the transport, and
// what every rank of every host hears when one is killed, stopped, leaves, or asks for something else.
#include "tests/multi_device/HostRanks.h"

using namespace heddle;
using namespace heddle::testing;

namespace {

TEST(Hosts, EveryCollectiveGivesTheBitsOfTheReference) {
  std::vector<HostPlan> plans;
  for (CollectiveKind kind : kindsOfHosts)
    for (int64_t inner : {0, 1, 3000})
      plans.push_back(planOf(kind, 4, 2, inner));
  expectRight(4, 2, TransportKind::Loopback, plans);
  expectRight(4, 2, TransportKind::Tcp, plans);
}

TEST(Hosts, EveryAlgorithmAndCutGivesTheSameBits) {
  std::vector<HostPlan> plans;
  for (const char *algorithm : {"hosts_whole", "hosts_shards", "hosts_pieces"})
    for (int64_t chunks : {1, 3, 7})
      plans.push_back(planOf(CollectiveKind::AllReduce, 6, 3, 5003, ElementType::F32, {algorithm, chunks}));
  expectRight(6, 3, TransportKind::Loopback, plans);
}

TEST(Hosts, TypesAndReductions) {
  std::vector<HostPlan> plans = {
      planOf(CollectiveKind::AllReduce, 4, 2, 2000, ElementType::BF16, {"hosts_pieces", 2}),
      planOf(CollectiveKind::AllReduce, 4, 2, 2000, ElementType::F16, {"hosts_shards", 2}, Reduction::Minimum),
      planOf(CollectiveKind::ReduceScatter, 4, 2, 500, ElementType::F8E4M3FN),
      planOf(CollectiveKind::ReduceScatter, 4, 2, 500, ElementType::I32, {}, Reduction::Product),
      planOf(CollectiveKind::AllGather, 4, 2, 777, ElementType::I8),
      planOf(CollectiveKind::AllToAll, 4, 2, 777, ElementType::F64),
  };
  expectRight(4, 2, TransportKind::Loopback, plans);
}

// Three ranks on two hosts, and hosts of one rank: each rank is a host of its own, and no kernel is for several.
TEST(Hosts, OfUnequalNumbersAreFlat) {
  std::vector<HostPlan> plans;
  for (CollectiveKind kind : kindsOfHosts)
    plans.push_back(planOf(kind, 3, 2, 1500));
  for (const char *algorithm : {"hosts_whole", "hosts_shards", "hosts_pieces"})
    plans.push_back(planOf(CollectiveKind::AllReduce, 3, 2, 3001, ElementType::F32, {algorithm, 3}));
  EXPECT_EQ(plans.front().perHost, 1);
  expectRight(3, 2, TransportKind::Loopback, plans);
}

TEST(Hosts, ManyCallsInARow) {
  std::vector<HostPlan> plans;
  for (CollectiveKind kind : kindsOfHosts)
    plans.push_back(
        planOf(kind, 4, 2, 700, ElementType::F32, {kind == CollectiveKind::AllReduce ? "hosts_pieces" : "", 0}));
  TestProcesses processes(4, [&](const TestRank &self) {
    auto group = join(self, 2, TransportKind::Loopback);
    std::vector<std::unique_ptr<RankRun>> runs;
    for (size_t i = 0; i < plans.size(); ++i)
      runs.push_back(std::make_unique<RankRun>(*group, plans[i], i + 1));
    for (int call = 0; call < 300; ++call)
      runs[size_t(call * call + call / 7) % runs.size()]->launch();
    for (auto &run : runs) {
      run->fill();
      run->launch();
      self.say(run->difference());
    }
  });
  for (int rank : {0, 1, 2, 3})
    EXPECT_EQ(processes.finish(rank), "\n\n\n\n");
}

TEST(Hosts, LeaveNothingBehind) {
  HostPlan plan = planOf(CollectiveKind::AllReduce, 4, 2, 3000, ElementType::F32, {"hosts_shards", 2});
  for (TransportKind transport : {TransportKind::Loopback, TransportKind::Tcp}) {
    TestProcesses processes(4, [&](const TestRank &self) {
      auto device = openDevice("host:" + std::to_string(self.rank));
      OpenResources before = OpenResources::count();
      {
        auto group = join(self, 2, transport);
        RankRun run(*group, plan, 1);
        run.launch();
        self.say(run.difference() + "+");
      }
      OpenResources after = OpenResources::count();
      if (after.files + (self.rank == 0 ? 3 : 1) != before.files || after.sharedMappings)
        self.say(fmt::format("left behind: {} descriptors of {}, {} mappings", after.files, before.files,
                             after.sharedMappings));
    });
    for (int rank : {0, 1, 2, 3})
      EXPECT_EQ(processes.finish(rank), "+\n");
  }
}

// The survivors of a group make a new one: of one host less.
TEST(Hosts, SurvivorsGoOnInANewGroup) {
  HostPlan all = planOf(CollectiveKind::AllReduce, 4, 2, 300), left = planOf(CollectiveKind::AllReduce, 3, 3, 300);
  std::string address = "unix:@heddle-hosts-test-" + std::to_string(::getpid());
  TestProcesses processes(4, [&](const TestRank &self) {
    {
      auto group = join(self, 2, TransportKind::Loopback);
      RankRun run(*group, all, 1);
      run.launch();
      self.say("ready" + run.difference());
      EXPECT_CONTAINS(errorOf([&] {
                        for (;;) {
                          run.launch();
                          run.bits();
                        }
                      }).what(),
                      "rank 3 (host:3");
    }
    BootstrapOptions options;
    options.address = address, options.rank = self.rank, options.size = 3;
    auto bootstrap = makeBootstrap(options);
    HostOptions hosts;
    hosts.hosts = 3;
    HostSurvey survey(*bootstrap, hosts);
    HostCommunicator::Options of;
    of.model = model;
    HostCommunicator group(
        std::make_unique<HostGroup>(*bootstrap, openDevice("host:" + std::to_string(self.rank)), survey), of);
    RankRun run(group, left, 2);
    run.launch();
    self.say("again" + run.difference());
  });
  for (int rank : {0, 1, 2, 3})
    processes.waitFor(rank, "ready");
  processes.signal(3, SIGKILL);
  for (int rank : {0, 1, 2})
    EXPECT_TRUE(processes.finish(rank).ends_with("again\n")) << processes.text(rank);
}

//===-- Faults ---------------------------------------------------------------------------------------------------===//

TEST(Hosts, HearOfADeathOnEveryHost) {
  HostPlan plan = planOf(CollectiveKind::AllReduce, 4, 2, 20000, ElementType::F32, {"hosts_shards", 4});
  for (int round = 0; round < 8; ++round) { // wherever it is at the time
    int victim = round % 4;
    TestProcesses processes(4, [&](const TestRank &self) { callOn(self, plan, 30); });
    for (int rank : {0, 1, 2, 3})
      processes.waitFor(rank, "ready");
    ::usleep(useconds_t(3000 * round));
    double killed = now();
    processes.signal(victim, SIGKILL);
    for (int rank : {0, 1, 2, 3}) {
      if (rank == victim)
        continue;
      std::string text = processes.finish(rank);
      EXPECT_CONTAINS(text, fmt::format("rank {} (host:{}, pid {}) is gone", victim, victim, processes.pid(victim)));
      EXPECT_LT(timeIn(text) - killed, 15) << text; // the deadline is 30
      EXPECT_EQ(text.find("launched again"), std::string::npos);
    }
  }
}

TEST(Hosts, NameAStoppedRankAtTheDeadline) {
  HostPlan plan = planOf(CollectiveKind::AllReduce, 4, 2, 20000, ElementType::F32, {"hosts_shards", 4});
  for (int victim : {0, 3}) {
    TestProcesses processes(4, [&](const TestRank &self) { callOn(self, plan, 4); });
    for (int rank : {0, 1, 2, 3})
      processes.waitFor(rank, "ready");
    processes.signal(victim, SIGSTOP);
    double stopped = now();
    for (int rank : {0, 1, 2, 3}) {
      if (rank == victim)
        continue;
      std::string text = processes.finish(rank);
      // A rank may have waited for one that waits itself: who does not answer is named besides.
      EXPECT_CONTAINS(text,
                      fmt::format("rank {} (host:{}, pid {}) does not answer", victim, victim, processes.pid(victim)));
      EXPECT_CONTAINS(text, "error: ");
      EXPECT_LT(timeIn(text) - stopped, 30) << text;
    }
  }
}

TEST(Hosts, HearOfAnAbort) {
  HostPlan plan = planOf(CollectiveKind::AllGather, 4, 2, 100);
  TestProcesses processes(4, [&](const TestRank &self) {
    auto group = join(self, 2, TransportKind::Loopback);
    RankRun run(*group, plan, 1);
    if (self.rank == 3)
      group->abort("the disk is full");
    else
      run.launch();
    run.bits();
    group->gather("", 10); // a call that is complete is no failure by itself
  });
  for (int rank : {0, 1, 2})
    EXPECT_CONTAINS(processes.finish(rank),
                    "rank 3 (host:3, pid " + std::to_string(processes.pid(3)) + ") ended the group: the disk is full");
}

TEST(Hosts, RefusePlansThatDiffer) {
  HostPlan good = planOf(CollectiveKind::AllReduce, 4, 2, 3000, ElementType::F32, {"hosts_shards", 1});
  HostPlan other = planOf(CollectiveKind::AllReduce, 4, 2, 3000, ElementType::F32, {"hosts_pieces", 1});
  TestProcesses processes(4, [&](const TestRank &self) {
    auto group = join(self, 2, TransportKind::Loopback);
    Error error = errorOf([&] { group->prepare(self.rank >= 2 ? other : good); });
    self.say(error.what());
    for (const std::string &note : error.notes)
      self.say(note);
    RankRun run(*group, good, 2); // the group goes on
    run.launch();
    self.say("then " + run.difference());
  });
  std::string first = processes.finish(0);
  EXPECT_EQ(first, fmt::format("rank 2 (host:2, pid {}) prepares something else than rank 0 (host:0, pid {})\n"
                               "the ranks of a group prepare the same collectives in the same order\n"
                               "plan of rank 0: {}\nplan of rank 2: {}\nthen \n",
                               processes.pid(2), processes.pid(0), hostPlanKey(good), hostPlanKey(other)));
  for (int rank : {1, 2, 3})
    EXPECT_EQ(processes.finish(rank), first);
}

TEST(Hosts, RefuseLaunchesThatDiffer) {
  expectRefusedLaunches(TransportKind::Loopback);
}

TEST(Hosts, ErrorsOfSettingUpAreErrorsOfAll) {
  TestProcesses options(4, [](const TestRank &self) { join(self, self.rank == 3 ? 4 : 2, TransportKind::Loopback); });
  for (int rank : {0, 1, 2, 3})
    EXPECT_CONTAINS(options.finish(rank), "every rank of a group has the same options");
  TestProcesses many(2, [](const TestRank &self) { join(self, 3, TransportKind::Loopback); });
  for (int rank : {0, 1})
    EXPECT_CONTAINS(many.finish(rank), "error: 3 hosts for 2 ranks: each has one at least");
  TestProcesses mpi(2, [](const TestRank &self) { join(self, 2, TransportKind::Mpi); });
  for (int rank : {0, 1})
    EXPECT_CONTAINS(mpi.finish(rank), "MPI is not running");
}

// Memory that one rank of one host cannot have is an error on all ranks of all hosts, and the group goes on.
TEST(Hosts, GoOnAfterAnErrorOfOneRank) {
  HostPlan good = planOf(CollectiveKind::AllReduce, 4, 2, 3000, ElementType::F32, {"hosts_shards", 1});
  HostPlan large =
      makeHostPlan(makeCollective(CollectiveKind::AllGather, 4, 1, int64_t(1) << 28), layoutOf(4, 2), model);
  compiled(large);
  TestProcesses processes(4, [&](const TestRank &self) {
    if (self.rank == 1)
      ::setenv("HEDDLE_HOST_MEMORY", "1000000000", 1);
    auto group = join(self, 2, TransportKind::Loopback);
    self.say(errorOf([&] { group->prepare(large); }).what());
    RankRun run(*group, good, 2);
    run.launch();
    self.say("then " + run.difference());
  });
  for (int rank : {0, 1, 2, 3}) {
    std::string text = processes.finish(rank);
    EXPECT_CONTAINS(text, rank == 1 ? "host:1" : "rank 1 (host:1, pid ");
    EXPECT_TRUE(text.ends_with("\nthen \n")) << text;
  }
}

} // namespace
