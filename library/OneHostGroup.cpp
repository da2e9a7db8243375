// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranks of one host: a Communicator with what it takes for calls of the C interface.
#include "chips/Chip.h"
#include "library/Compiler.h"
#include "library/RankGroup.h"
#include "program/RankCollective.h"
#include "runtime/ProcessGroup.h"
#include "runtime/Stream.h"
#include <algorithm>
#include <fmt/format.h>
#include <mutex>
#include <nlohmann/json.hpp>

namespace heddle {
namespace {

struct OneHost {
  std::unique_ptr<Communicator> group;
  int rank = 0;
  std::mutex launching; ///< launches of several threads come in some order
};

class OneHostCollective : public PreparedCollective {
public:
  OneHostCollective(OneHost &host, Communicator::Operation &operation, bool isCaptured)
      : host(host), operation(operation), isCaptured(isCaptured) {
    const Plan &plan = operation.plan();
    name = operation.name();
    algorithm = plan.algorithm->name;
    blocks = plan.rounds ? plan.blocks : 0;
    collective = plan.collective;
  }
  void launch(const std::vector<uint64_t> &addresses, Stream *stream) override;

  std::shared_ptr<const program::RankCollective> module; ///< null for a plain one: an input and an output

private:
  std::vector<LaunchArgument> argumentsOf(const std::vector<uint64_t> &addresses) const;

  OneHost &host;
  Communicator::Operation &operation;
  const bool isCaptured;
};

void OneHostCollective::launch(const std::vector<uint64_t> &addresses, Stream *stream) {
  Communicator &group = *host.group;
  uint64_t capture = (stream ? *stream : group.stream(host.rank)).captureId();
  bool isCapturing = capture != 0;
  if (isCapturing != isCaptured)
    throw inputError(fmt::format("the stream is {}being captured, and the collective was prepared for streams that "
                                 "are{}",
                                 isCapturing ? "" : "not ", isCaptured ? "" : " not"),
                     {"prepare one for each: `captured` of the request"});
  std::vector<LaunchArgument> operands = argumentsOf(addresses);
  std::lock_guard lock(host.launching);
  if (stream)
    group.launch(operation, host.rank, operands, *stream, capture);
  else
    group.launch(operation, host.rank, operands);
}

std::vector<LaunchArgument> OneHostCollective::argumentsOf(const std::vector<uint64_t> &addresses) const {
  std::vector<LaunchArgument> arguments;
  if (!module) {
    for (uint64_t address : addresses)
      arguments.push_back(DeviceAddress(address));
    return arguments;
  }
  for (int number : module->arguments) {
    if (number >= 0)
      arguments.push_back(DeviceAddress(addresses[size_t(number)]));
    else if (number == program::RankCollective::Replica)
      arguments.push_back(ScalarBits{uint64_t(host.rank / module->partitions)});
    else
      arguments.push_back(ScalarBits{uint64_t(host.rank % module->partitions)});
  }
  return arguments;
}

std::vector<ArrayPlace> arraysOf(const program::RankCollective &module) {
  std::vector<ArrayPlace> arrays;
  for (size_t i = 0; i < module.arrays.size(); ++i)
    arrays.push_back({module.arrays[i].name, module.arrays[i].type, module.arrays[i].sizeBytes, 1,
                      i + module.results >= module.arrays.size()});
  for (size_t i = 0; i < module.arguments.size(); ++i)
    if (module.arguments[i] >= 0) { // after those of the protocol
      const auto &all = module.kernel.arguments;
      ArrayPlace &place = arrays[size_t(module.arguments[i])];
      place.alignment = std::max(place.alignment, all[all.size() - module.arguments.size() + i].divisibility);
    }
  return arrays;
}

class OneHostGroup : public RankGroup {
public:
  OneHostGroup(Bootstrap &bootstrap, std::shared_ptr<Device> theDevice, const RankGroupOptions &options)
      : device(std::move(theDevice)), reservedUnits(options.reservedUnits) {
    auto processes = std::make_unique<ProcessGroup>(bootstrap, device, options.setup);
    ProcessGroup &steps = *processes;
    host.rank = processes->rank();
    host.group = std::make_unique<Communicator>(
        std::move(processes), Communicator::Options{.deadlineSeconds = options.deadline, .kernels = options.kernels});
    if (options.prepare > 0)
      steps.setStepSeconds(options.prepare);
  }
  int rank() const override { return host.rank; }
  int ranks() const override { return host.group->ranks(); }
  void describe(nlohmann::ordered_json &json) const override;
  heddle_collective_plan plan(const CollectiveRequest &request) override;
  std::unique_ptr<PreparedCollective> prepare(const CollectiveRequest &request) override;
  std::unique_ptr<PreparedCollective> prepareModule(std::string_view text, const std::string &name,
                                                    bool captured) override;
  Buffer allocate(uint64_t sizeBytes, const std::string &name) override {
    return host.group->allocate(host.rank, sizeBytes, name);
  }
  Window &registerWindow(uint64_t address, uint64_t sizeBytes, const std::string &name) override {
    return host.group->registerWindow({address}, sizeBytes, name);
  }
  void deregister(Window &window) override { host.group->deregister(window); }
  void follow(Stream &stream) override {
    std::lock_guard lock(host.launching);
    host.group->follow(host.rank, stream);
  }
  void mark(Stream &stream) override {
    std::lock_guard lock(host.launching);
    host.group->mark(host.rank, stream);
  }
  void synchronize() override { host.group->synchronize(); }
  std::optional<Error> failure() override { return host.group->failure(); }
  std::optional<Error> groupError() const override { return host.group->groupError(); }
  void abort(const std::string &reason) override { host.group->abort(reason); }
  void leave() override { host.group->leave(); }

private:
  Plan planOf(const CollectiveRequest &request) const;

  std::shared_ptr<Device> device;
  int reservedUnits;
  OneHost host;
};

void OneHostGroup::describe(nlohmann::ordered_json &json) const {
  const ProcessGroup &processes = *host.group->processes();
  json["computeUnits"] = processes.computeUnits();
  json["sharing"] = sharingName(processes.sharing());
  json["members"] = nlohmann::ordered_json::array();
  for (int rank = 0; rank < processes.ranks(); ++rank)
    json["members"].push_back(
        {{"rank", rank}, {"device", processes.deviceName(rank)}, {"process", processes.neighbours().processId(rank)}});
}

Plan OneHostGroup::planOf(const CollectiveRequest &request) const {
  PlanOptions options;
  options.algorithm = request.algorithm;
  options.computeUnits = host.group->computeUnits();
  options.direct = options.windows = request.windows.areGiven();
  return makePlanBeside(reservedUnits, request.collective, device->chip(), options);
}

heddle_collective_plan OneHostGroup::plan(const CollectiveRequest &request) {
  Plan chosen = planOf(request);
  heddle_collective_plan answer = {};
  answer.algorithm = chosen.algorithm->name;
  answer.memory_bytes = chosen.rounds ? chosen.arena.sizeBytes + chosen.arena.stagingBytes : 0;
  answer.blocks = chosen.rounds ? chosen.blocks : 0;
  answer.packets = !chosen.hasPackets() ? 0 : chosen.packets == PacketForm::LL ? 1 : 2;
  return answer;
}

std::unique_ptr<PreparedCollective> OneHostGroup::prepare(const CollectiveRequest &request) {
  Communicator::Operation &operation =
      host.group->prepare(planOf(request), "", request.isCaptured ? "captured" : "", request.windows);
  auto made = std::make_unique<OneHostCollective>(host, operation, request.isCaptured);
  made->arrays = heddle::arraysOf(request.collective);
  return made;
}

std::unique_ptr<PreparedCollective> OneHostGroup::prepareModule(std::string_view text, const std::string &name,
                                                                bool captured) {
  auto module = std::make_shared<program::RankCollective>(
      compileModule(text, name, ranks(), device->chip(), host.group->computeUnits()));
  Communicator::Operation &operation = host.group->prepare(module->plan, module->kernel, module->name);
  auto made = std::make_unique<OneHostCollective>(host, operation, captured);
  made->arrays = arraysOf(*module);
  made->isModule = true;
  made->module = std::move(module);
  return made;
}

} // namespace

std::vector<ArrayPlace> arraysOf(const Collective &collective) {
  int64_t size = elementSizeBytes(collective.type);
  std::string type = elementTypeName(collective.type);
  return {{"input", type, uint64_t(collective.inputElements() * size), size, false},
          {"output", type, uint64_t(collective.outputElements() * size), size, true}};
}

std::unique_ptr<RankGroup> makeRankGroup(Bootstrap &bootstrap, std::shared_ptr<Device> device,
                                         const RankGroupOptions &options) {
  HostSurvey survey(bootstrap, options.hosts);
  if (survey.isOneHost())
    return std::make_unique<OneHostGroup>(bootstrap, std::move(device), options);
  return makeHostsGroup(bootstrap, std::move(device), survey, options);
}

} // namespace heddle
