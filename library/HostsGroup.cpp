// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranks of several hosts: a HostCommunicator with what it takes for calls of the C interface.
#include "collectives/hosts/HostCommunicator.h"
#include "library/RankGroup.h"
#include "runtime/ProcessGroup.h"
#include "runtime/Stream.h"
#include <fmt/format.h>
#include <mutex>
#include <nlohmann/json.hpp>

namespace heddle {
namespace {

struct Hosts {
  std::unique_ptr<HostCommunicator> group;
  std::mutex preparing, launching; ///< one thread at a time
};

class HostsCollective : public PreparedCollective {
public:
  HostsCollective(Hosts &hosts, HostCommunicator::Operation &operation, const HostPlan &plan)
      : hosts(hosts), operation(operation) {
    name = describe(plan.collective);
    algorithm = hostAlgorithmName(plan.algorithm);
    blocks = hosts.group->needsOf(plan).blocks;
    collective = plan.collective;
    arrays = arraysOf(plan.collective);
  }
  void launch(const std::vector<uint64_t> &addresses, Stream *stream) override {
    std::lock_guard lock(hosts.launching);
    hosts.group->launch(operation, addresses[0], addresses[1], stream);
  }

private:
  Hosts &hosts;
  HostCommunicator::Operation &operation;
};

class HostsGroup : public RankGroup {
public:
  HostsGroup(Bootstrap &bootstrap, std::shared_ptr<Device> device, const HostSurvey &survey,
             const RankGroupOptions &given) {
    HostCommunicator::Options options{.deadlineSeconds = given.deadline,
                                      .kernels = given.kernels,
                                      .model = given.hostModel,
                                      .reservedUnits = given.reservedUnits};
    hosts.group = std::make_unique<HostCommunicator>(
        std::make_unique<HostGroup>(bootstrap, std::move(device), survey, given.setup), options);
    if (given.prepare > 0)
      hosts.group->setStepSeconds(given.prepare);
  }
  int rank() const override { return members().rank(); }
  int ranks() const override { return members().ranks(); }
  void describe(nlohmann::ordered_json &json) const override;
  heddle_collective_plan plan(const CollectiveRequest &request) override;
  std::unique_ptr<PreparedCollective> prepare(const CollectiveRequest &request) override;
  std::unique_ptr<PreparedCollective> prepareModule(std::string_view, const std::string &, bool) override {
    throw lacking("modules, and code that is fused into collectives,",
                  "run the collective alone, and the code around it as kernels of its own");
  }
  Buffer allocate(uint64_t, const std::string &) override { throw lackingWindows(); }
  Window &registerWindow(uint64_t, uint64_t, const std::string &) override { throw lackingWindows(); }
  void deregister(Window &) override { throw lackingWindows(); }
  void follow(Stream &stream) override {
    std::lock_guard lock(hosts.launching);
    hosts.group->follow(stream);
  }
  void mark(Stream &stream) override {
    std::lock_guard lock(hosts.launching);
    hosts.group->mark(stream);
  }
  void synchronize() override { hosts.group->synchronize(); }
  std::optional<Error> failure() override { return hosts.group->failure(); }
  std::optional<Error> groupError() const override { return hosts.group->groupError(); }
  void abort(const std::string &reason) override { hosts.group->abort(reason); }
  void leave() override {
    std::lock_guard lock(hosts.launching);
    hosts.group->leave();
  }

private:
  const HostGroup &members() const { return hosts.group->group(); }
  HostPlan planOf(const CollectiveRequest &request) const;
  Error lacking(const std::string &what, const char *instead) const {
    return inputError(
        fmt::format("{} are for ranks of one host, and these are on {}", what, members().layout().describe()),
        {instead});
  }
  Error lackingWindows() const {
    return lacking("windows", "call collectives on arrays anywhere: between hosts all of them are copied");
  }

  Hosts hosts;
};

void HostsGroup::describe(nlohmann::ordered_json &json) const {
  const HostLayout &layout = members().layout();
  json["computeUnits"] = hosts.group->computeUnits();
  json["sharing"] = sharingName(hosts.group->node().sharing());
  json["hosts"] = layout.machines;
  json["ranksPerHost"] = layout.flat ? 0 : layout.perHost;
  json["transport"] = members().carrier().description();
  json["hostModel"] = heddle::describe(hosts.group->model());
  json["members"] = nlohmann::ordered_json::array();
  for (int rank = 0; rank < layout.ranks; ++rank)
    json["members"].push_back(
        {{"rank", rank}, {"device", members().deviceName(rank)}, {"process", members().all().processId(rank)}});
}

HostPlan HostsGroup::planOf(const CollectiveRequest &request) const {
  if (request.isCaptured)
    throw lacking("collectives in graphs", "launch it on streams that are not being captured: `captured` is 0");
  HostPlan plan = makeHostPlan(request.collective, members().layout(), hosts.group->model(), {request.algorithm, 0});
  hosts.group->check(plan);
  return plan;
}

heddle_collective_plan HostsGroup::plan(const CollectiveRequest &request) {
  HostPlan chosen = planOf(request);
  HostCommunicator::Needs needs = hosts.group->needsOf(chosen);
  heddle_collective_plan answer = {};
  answer.algorithm = hostAlgorithmName(chosen.algorithm);
  answer.memory_bytes = int64_t(needs.memoryBytes);
  answer.blocks = needs.blocks;
  return answer;
}

std::unique_ptr<PreparedCollective> HostsGroup::prepare(const CollectiveRequest &request) {
  HostPlan plan = planOf(request);
  std::lock_guard lock(hosts.preparing);
  return std::make_unique<HostsCollective>(hosts, hosts.group->prepare(plan), plan);
}

} // namespace

std::unique_ptr<RankGroup> makeHostsGroup(Bootstrap &bootstrap, std::shared_ptr<Device> device,
                                          const HostSurvey &survey, const RankGroupOptions &options) {
  return std::make_unique<HostsGroup>(bootstrap, std::move(device), survey, options);
}

} // namespace heddle
