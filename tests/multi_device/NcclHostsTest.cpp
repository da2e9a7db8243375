// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives between hosts over NCCL, by its fake on host devices: bits, and what every rank hears of a call that
// fails, of ranks that die, stop or do something else. NCCL's waits end by an abort alone.
#include "collectives/kernel/CompileKernel.h"
#include "support/TestPaths.h"
#include "tests/multi_device/HostRanks.h"

using namespace heddle;
using namespace heddle::testing;

namespace {

/// For the ranks that the test starts.
class HostsOverNccl : public ::testing::Test {
protected:
  void SetUp() override {
    ::setenv("HEDDLE_NCCL_DEVICE", "host", 1);
    ::setenv("HEDDLE_NCCL_LIBRARY", library.c_str(), 1);
  }
  void TearDown() override {
    for (const char *name : {"HEDDLE_NCCL_DEVICE", "HEDDLE_NCCL_LIBRARY"})
      ::unsetenv(name);
  }
  const std::string library = buildPath("test/nccl/libnccl.so.2");
};

TEST_F(HostsOverNccl, GiveTheBitsOfTheReference) {
  std::vector<HostPlan> plans;
  for (CollectiveKind kind : kindsOfHosts)
    for (int64_t inner : {0, 1, 3000})
      plans.push_back(planOf(kind, 4, 2, inner));
  plans.push_back(planOf(CollectiveKind::AllReduce, 4, 2, 5003, ElementType::BF16, {"hosts_pieces", 3}));
  expectRight(4, 2, TransportKind::Nccl, plans, "NCCL 2.28.9 (" + library + ")");
  std::vector<HostPlan> flat = {planOf(CollectiveKind::AllReduce, 3, 2, 3001, ElementType::F32, {"hosts_pieces", 3})};
  expectRight(3, 2, TransportKind::Nccl, flat, "NCCL 2.28.9 (" + library + ")");
}

TEST_F(HostsOverNccl, MeasureTheTransport) {
  TestProcesses processes(2, [](const TestRank &self) {
    auto group = join(self, 2, TransportKind::Nccl, 30, 20, /*measures=*/true);
    const HostModel &measured = group->model();
    self.say(describe(measured) + (measured.rail.microseconds > 0 && measured.rail.bytesPerMicrosecond > 0 ? "" : "?"));
  });
  std::string first = processes.finish(0);
  EXPECT_EQ(first, processes.finish(1));
  EXPECT_TRUE(first.starts_with("10,3000,") && first.find('?') == std::string::npos) << first;
}

TEST_F(HostsOverNccl, HearOfADeath) {
  HostPlan plan = planOf(CollectiveKind::AllReduce, 4, 2, 20000, ElementType::F32, {"hosts_shards", 4});
  for (int victim : {0, 3}) {
    TestProcesses processes(4, [&](const TestRank &self) { callOn(self, plan, 30, TransportKind::Nccl); });
    for (int rank : {0, 1, 2, 3})
      processes.waitFor(rank, "ready");
    double killed = now();
    processes.signal(victim, SIGKILL);
    for (int rank : {0, 1, 2, 3}) {
      if (rank == victim)
        continue;
      std::string text = processes.finish(rank);
      EXPECT_CONTAINS(text, fmt::format("rank {} (host:{}, pid {}) is gone", victim, victim, processes.pid(victim)));
      EXPECT_LT(timeIn(text) - killed, 15) << text; // the deadline and the fake's patience are 30
    }
  }
}

TEST_F(HostsOverNccl, NameAStoppedRankAtTheDeadline) {
  HostPlan plan = planOf(CollectiveKind::AllGather, 2, 2, 20000);
  TestProcesses processes(2, [&](const TestRank &self) { callOn(self, plan, 1, TransportKind::Nccl); });
  for (int rank : {0, 1})
    processes.waitFor(rank, "ready");
  processes.signal(1, SIGSTOP);
  double stopped = now();
  std::string text = processes.finish(0);
  EXPECT_CONTAINS(text, "error: rank 1 did not take part in an exchange between hosts within 2 s");
  EXPECT_LT(timeIn(text) - stopped, 15) << text;
}

TEST_F(HostsOverNccl, RefuseLaunchesThatDiffer) {
  expectRefusedLaunches(TransportKind::Nccl);
}

// Each call of NCCL's fails on one rank, when the group is made or later: all ranks hear of it, with both sides.
TEST_F(HostsOverNccl, NameTheCallThatFailsOnAllRanks) {
  HostPlan plan = planOf(CollectiveKind::AllReduce, 4, 2, 300);
  for (const char *call : {"ncclGetUniqueId:1", "ncclCommInitRankConfig:1", "ncclCommGetAsyncError:1", "ncclSend:3",
                           "ncclRecv:4", "ncclGroupEnd:2"}) {
    int victim = std::string(call).starts_with("ncclGetUniqueId") ? 1 : 2, other = (victim + 2) % 4;
    TestProcesses processes(4, [&](const TestRank &self) {
      if (self.rank == victim)
        ::setenv("FAKE_NCCL_FAIL", call, 1);
      callOn(self, plan, 30, TransportKind::Nccl);
    });
    double started = now();
    std::string symbol = std::string(call).substr(0, std::string(call).find(':'));
    for (int rank : {0, 1, 2, 3}) {
      std::string text = processes.finish(rank);
      EXPECT_CONTAINS(text, "NCCL: " + symbol + ": what the fake says of it (2)");
      EXPECT_CONTAINS(text, fmt::format("rank {} (host:{}, pid {}) exchanges with rank {} (host:{}, pid {}) of other "
                                        "hosts: ",
                                        victim, victim, processes.pid(victim), other, other, processes.pid(other)));
      if (rank == victim) {
        EXPECT_CONTAINS(text, "note: NCCL's last words: the fake's last error");
        EXPECT_CONTAINS(text, "note: the transport `tcp` needs no NCCL");
      }
    }
    EXPECT_LT(now() - started, 15) << call;
  }
}

TEST_F(HostsOverNccl, SayWhatIsMissing) {
  auto textOf = [](const char *name, const char *value) {
    TestProcesses processes(2, [&](const TestRank &self) {
      if (self.rank == 1)
        ::setenv(name, value, 1);
      join(self, 2, TransportKind::Nccl);
    });
    EXPECT_CONTAINS(processes.finish(1), "\nnote: ");
    return processes.finish(0);
  };
  EXPECT_CONTAINS(textOf("HEDDLE_NCCL_LIBRARY", "/nowhere/libnccl.so.2"), "rank 1 (host:1, pid ");
  EXPECT_CONTAINS(textOf("HEDDLE_NCCL_LIBRARY", "/nowhere/libnccl.so.2"),
                  "): NCCL cannot be opened: /nowhere/libnccl.so.2: ");
  EXPECT_CONTAINS(textOf("HEDDLE_NCCL_LIBRARY", buildPath("test/fake-nccl.so").c_str()), "has no `ncclGetUniqueId`");
  EXPECT_CONTAINS(textOf("HEDDLE_NCCL_DEVICE", "cuda"),
                  "): the transport `nccl` is between GPUs, and this rank has host:1");
}

} // namespace
