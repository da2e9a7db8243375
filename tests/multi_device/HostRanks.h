// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests of collectives between hosts: ranks of hosts that processes play, their plans and their calls.
#pragma once
#include "collectives/hosts/HostCommunicator.h"
#include "collectives/kernel/CompileKernel.h"
#include "runtime/HostGroup.h"
#include "runtime/Stream.h"
#include "runtime/processes/TestProcesses.h"
#include "support/TestError.h"
#include "tests/multi_device/Cases.h"
#include <fmt/format.h>
#include <set>

namespace heddle::testing {

inline const HostModel model =
    parseHostModel("10,3000,50,1000"); // measured ones would choose other plans on other days

inline std::unique_ptr<HostCommunicator> join(const TestRank &self, int hosts, TransportKind transport,
                                              double seconds = 30, double step = 20, bool measures = false) {
  auto bootstrap = self.bootstrap();
  HostOptions options;
  options.hosts = hosts, options.transport = transport, options.seconds = step;
  HostSurvey survey(*bootstrap, options);
  auto device = openDevice("host:" + std::to_string(self.rank));
  HostCommunicator::Options of;
  of.deadlineSeconds = seconds;
  if (!measures)
    of.model = model;
  return std::make_unique<HostCommunicator>(std::make_unique<HostGroup>(*bootstrap, device, survey, step), of);
}

inline HostLayout layoutOf(int ranks, int hosts) {
  std::vector<std::string> names;
  for (int rank = 0; rank < ranks; ++rank)
    names.push_back(std::to_string(rank * hosts / ranks));
  return layOutHosts(names, 0);
}

/// Compiles what the steps of a plan need in this process, before it has children, which then find the kernels.
inline HostPlan compiled(const HostPlan &plan) {
  const Collective &c = plan.collective;
  auto node = [&](CollectiveKind kind, int64_t inner) {
    Collective part = c;
    part.kind = kind, part.ranks = plan.perHost, part.inner = inner;
    if (plan.perHost > 1 && inner > 0)
      compileKernel(makePlan(part, hostChip));
  };
  auto fold = [&](int64_t inner) {
    Collective part = c;
    part.kind = CollectiveKind::ReduceScatter, part.ranks = plan.hosts, part.inner = inner;
    PlanOptions options;
    options.own = &foldParts;
    if (inner > 0)
      compileKernel(makePlan(part, hostChip, options));
  };
  if (c.kind != CollectiveKind::AllReduce) {
    node(c.kind, c.inner);
    if (c.reduces())
      fold(c.inner);
    return plan;
  }
  for (int64_t chunk : std::set<int64_t>(plan.chunks.begin(), plan.chunks.end())) {
    node(CollectiveKind::ReduceScatter, chunk / plan.perHost);
    node(CollectiveKind::AllGather, chunk / plan.perHost);
    fold(chunk / plan.perHost / (plan.algorithm == HostAlgorithm::Pieces ? plan.hosts : 1));
  }
  node(CollectiveKind::AllReduce, plan.rest);
  fold(plan.rest);
  return plan;
}

inline HostPlan planOf(CollectiveKind kind, int ranks, int hosts, int64_t inner, ElementType type = ElementType::F32,
                       const HostPlanOptions &options = {}, Reduction reduction = Reduction::Sum) {
  return compiled(
      makeHostPlan(makeCollective(kind, ranks, 1, inner, type, reduction), layoutOf(ranks, hosts), model, options));
}

/// One rank's call, out of place or in place, with what the reference makes of all ranks' inputs.
class RankRun {
public:
  RankRun(HostCommunicator &group, const HostPlan &plan, uint64_t seed, bool inPlace = false)
      : group(group), operation(group.prepare(plan)), plan(plan) {
    const Collective &c = plan.collective;
    int rank = group.group().rank();
    auto inputs = reference::randomInputs(c, seed, seed % 2 == 1);
    expected = reference::runHostCollective(plan, inputs)[size_t(rank)];
    mine = inputs[size_t(rank)];
    uint64_t part = uint64_t(c.partElements() * elementSizeBytes(c.type));
    first = group.device()->allocate(std::max<size_t>(1, mine.size()), "input");
    second = group.device()->allocate(std::max<size_t>(1, std::max(mine.size(), expected.size())), "output");
    uint64_t own = uint64_t(rank) * part;
    input = inPlace ? second.address() + (c.kind == CollectiveKind::AllGather ? own : 0) : first.address();
    output = second.address() + (inPlace && c.kind == CollectiveKind::ReduceScatter ? own : 0);
    fill();
  }
  void fill() {
    group.stream().fill(second, 0xA5);
    if (!mine.empty())
      group.stream().copyToDevice(input, mine.data(), mine.size());
  }
  void launch() { group.launch(operation, input, output); }
  std::string bits() {
    std::string seen(expected.size(), '\0');
    if (!seen.empty())
      group.stream().copyToHost(seen.data(), output, seen.size());
    group.synchronize();
    return seen;
  }
  /// Empty when it is right.
  std::string difference() { return reference::firstDifference(plan.collective.type, bits(), expected); }

private:
  HostCommunicator &group;
  HostCommunicator::Operation &operation;
  HostPlan plan;
  std::string mine, expected;
  Buffer first, second;
  uint64_t input = 0, output = 0;
};

/// Says how many calls were right: each plan twice out of place, with calls back to back, and once in place.
inline void runPlans(const TestRank &self, int hosts, TransportKind transport, const std::vector<HostPlan> &plans) {
  auto group = join(self, hosts, transport);
  int right = 0;
  for (const HostPlan &plan : plans)
    for (uint64_t seed : {1, 2, 3}) {
      RankRun run(*group, plan, seed, seed == 3);
      if (seed != 3)
        run.launch();
      run.launch();
      std::string difference = run.difference();
      right += difference.empty();
      if (!difference.empty())
        self.say(hostPlanKey(plan) + ": " + difference);
    }
  self.say(fmt::format("{} right over {}", right, group->group().carrier().description()));
}

inline void expectRight(int ranks, int hosts, TransportKind transport, const std::vector<HostPlan> &plans,
                        const std::string &description = "") {
  std::string over = !description.empty() ? description : transport == TransportKind::Tcp ? "TCP" : "unix sockets";
  TestProcesses processes(ranks, [&](const TestRank &self) { runPlans(self, hosts, transport, plans); });
  for (int rank = 0; rank < ranks; ++rank)
    EXPECT_EQ(processes.finish(rank), fmt::format("{} right over {}\n", 3 * plans.size(), over))
        << rank << " of " << ranks << " on " << hosts;
}

inline constexpr CollectiveKind kindsOfHosts[] = {CollectiveKind::AllReduce, CollectiveKind::AllGather,
                                                  CollectiveKind::ReduceScatter, CollectiveKind::AllToAll};

/// One host launches another collective than the other: errors on all ranks.
inline void expectRefusedLaunches(TransportKind transport) {
  HostPlan sum = planOf(CollectiveKind::AllReduce, 4, 2, 256, ElementType::F32, {"hosts_shards", 1});
  HostPlan least =
      planOf(CollectiveKind::AllReduce, 4, 2, 256, ElementType::F32, {"hosts_shards", 1}, Reduction::Minimum);
  TestProcesses processes(4, [&](const TestRank &self) {
    auto group = join(self, 2, transport);
    RankRun a(*group, sum, 2), b(*group, least, 2);
    (self.rank >= 2 ? b : a).launch(); // the ranks of each host agree
    a.bits();
  });
  int named = 0;
  for (int rank : {0, 1, 2, 3}) {
    EXPECT_CONTAINS(processes.finish(rank), "error: ");
    named += processes.text(rank).find("exchanges something else than this rank") != std::string::npos;
  }
  EXPECT_GE(named, 1);
}

/// Calls until something fails; says that, and when.
inline void callOn(const TestRank &self, const HostPlan &plan, double seconds,
                   TransportKind transport = TransportKind::Loopback) {
  auto group = join(self, 2, transport, seconds);
  RankRun run(*group, plan, 1);
  run.launch();
  self.say("ready" + run.difference());
  try {
    for (;;) {
      run.launch();
      run.bits();
    }
  } catch (const Error &error) {
    self.say("at " + std::to_string(now()));
    try {
      run.launch();
      self.say("launched again");
    } catch (const Error &) {
    }
    throw;
  }
}

inline double timeIn(const std::string &text) {
  size_t at = text.find("\nat ");
  return at == std::string::npos ? 1e300 : std::stod(text.substr(at + 4));
}

} // namespace heddle::testing
