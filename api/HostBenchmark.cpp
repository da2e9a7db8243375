// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One rank's buffers, its calls, and a comparison of its output with the plain reference of hosts.
#include "api/HostBenchmark.h"
#include "collectives/Reference.h"
#include "runtime/Stream.h"
#include "support/Error.h"
#include "support/SystemMemory.h"
#include <cmath>
#include <fmt/format.h>

namespace heddle {

/// In place, the input lies in `second` where the output's own part is, or the reverse.
struct HostBenchmark::Memory {
  Buffer first, second;
  uint64_t input[2], output[2]; ///< out of place, in place
};

static void checkRequest(const BenchmarkRequest &request) {
  const PlanOptions &plan = request.plan;
  if (plan.blocks || plan.tileElements || plan.tilesPerRound || plan.warps || plan.packets)
    throw inputError("`--blocks`, `--warps`, `--tile`, `--round` and `--packets` are for collectives of one host",
                     {"between hosts give `--algorithm`, `--chunks` or `--host-model`"});
  if (request.graphReplays)
    throw inputError("`--cudagraph`: a collective between hosts runs on the host too, and is in no graph",
                     {"leave it out"});
}

HostBenchmark::HostBenchmark(Bootstrap &bootstrap, std::shared_ptr<Device> device, const HostSurvey &survey,
                             BenchmarkRequest theRequest)
    : request(std::move(theRequest)) {
  checkRequest(request);
  HostCommunicator::Options options;
  options.deadlineSeconds = request.timeoutSeconds;
  if (!request.hostModel.empty())
    options.model = parseHostModel(request.hostModel);
  group =
      std::make_unique<HostCommunicator>(std::make_unique<HostGroup>(bootstrap, std::move(device), survey), options);
}

std::vector<std::string> HostBenchmark::deviceNames() const {
  std::vector<std::string> names;
  for (int rank = 0; rank < group->group().ranks(); ++rank)
    names.push_back(group->group().deviceName(rank));
  return names;
}

std::string HostBenchmark::deviceDescription() const {
  return group->device()->description();
}

HostsDescription HostBenchmark::describeHosts() const {
  const HostGroup &hosts = group->group();
  return {hosts.layout().machines, hosts.layout().describe(), hosts.carrier().description(), describe(group->model())};
}

GatherTexts HostBenchmark::gatherer() {
  return [this](const std::string &mine) { return group->gather(mine, request.timeoutSeconds); };
}

void HostBenchmark::checkMemory(const Collective &c) const {
  double size = double(elementSizeBytes(c.type)), larger = double(sizeColumn(c));
  double buffers = 3 * (double(c.inputElements()) * size + larger); // the transport's too
  double copies = request.checks ? double(c.ranks) * double(c.inputElements() + c.outputElements()) * size : 0;
  double needed = c.ranks * (buffers + copies), available = double(availableMemoryBytes());
  if (needed > available)
    throw environmentError(fmt::format("{} needs {:.1f} GiB for buffers{}, this machine has {:.1f} GiB left",
                                       describe(c), std::ldexp(needed, -30), request.checks ? " and the check" : "",
                                       std::ldexp(available, -30)),
                           {"give a smaller `--maxbytes`, or `--check 0`"});
}

CollectiveCalls HostBenchmark::calls(HostCommunicator::Operation &operation, const Memory &memory, int place) {
  CollectiveCalls calls;
  calls.devices = {group->device().get()};
  calls.streams = {&group->stream()};
  calls.launch = [this, &operation, &memory, place] {
    group->launch(operation, memory.input[place], memory.output[place]);
  };
  calls.slowest = [this](std::vector<double> &times) { takeSlowest(gatherer(), times); };
  calls.finish = [this] { group->synchronize(); };
  return calls;
}

BenchmarkTimes HostBenchmark::time(const Collective &c, const CollectiveCalls &calls) const {
  BenchmarkTimes times = timeCollective(calls, request);
  times.algorithmBandwidth = double(sizeColumn(c)) / (times.average * 1e3);
  times.busBandwidth = times.algorithmBandwidth * busFactor(c.kind, c.ranks);
  return times;
}

void HostBenchmark::check(const HostPlan &plan, const Memory &memory, HostCommunicator::Operation &operation,
                          uint64_t seed, BenchmarkRow &row) {
  const Collective &c = plan.collective;
  auto inputs = reference::randomInputs(c, seed, /*special=*/false);
  std::string wanted = reference::runHostCollective(plan, inputs)[size_t(rank())];
  const std::string &input = inputs[size_t(rank())];
  for (int place : {0, 1}) {
    BenchmarkTimes &times = place == 0 ? row.outOfPlace : row.inPlace;
    Stream &stream = group->stream();
    stream.fill(memory.second, 0xA5);
    if (!input.empty())
      stream.copyToDevice(memory.input[place], input.data(), input.size());
    group->launch(operation, memory.input[place], memory.output[place]);
    std::string seen(wanted.size(), '\0');
    if (!seen.empty())
      stream.copyToHost(seen.data(), memory.output[place], seen.size());
    group->synchronize();
    int64_t wrong = reference::countDifferences(c.type, seen, wanted);
    times.wrong += wrong;
    if (wrong && times.firstWrong.empty())
      times.firstWrong = fmt::format("rank {}, {}", rank(), reference::firstDifference(c.type, seen, wanted));
  }
}

BenchmarkRow HostBenchmark::measure(int64_t bytes) {
  const HostGroup &hosts = group->group();
  Collective c = hostCollectiveOfSize(request.kind, request.type, request.reduction, hosts.ranks(), bytes);
  BenchmarkRow row;
  HostPlan plan = makeHostPlan(c, hosts.layout(), group->model(), {request.plan.algorithm, request.hostChunks});
  row.plan.collective = c;
  row.plan.algorithm = &foldParts;
  row.hosts = plan;
  group->check(plan);
  group->agree([&] { // what is left is not the same on all hosts
    checkMemory(c);
    return "";
  });
  HostCommunicator::Operation &operation = group->prepare(plan);
  uint64_t size = uint64_t(elementSizeBytes(c.type)), own = uint64_t(rank()) * uint64_t(c.partElements()) * size;
  uint64_t input = uint64_t(c.inputElements()) * size, larger = uint64_t(sizeColumn(c));
  Memory memory;
  memory.first = group->device()->allocate(std::max<uint64_t>(1, input), "input");
  memory.second = group->device()->allocate(std::max<uint64_t>(1, larger), "output");
  group->stream().fill(memory.first, 0);
  group->stream().fill(memory.second, 0);
  memory.input[0] = memory.first.address();
  memory.output[0] = memory.second.address();
  memory.input[1] = memory.second.address() + (c.kind == CollectiveKind::AllGather ? own : 0);
  memory.output[1] = memory.second.address() + (c.kind == CollectiveKind::ReduceScatter ? own : 0);
  row.outOfPlace = time(c, calls(operation, memory, 0));
  row.inPlace = time(c, calls(operation, memory, 1));
  for (int i = 0; i < request.checks; ++i)
    check(plan, memory, operation, uint64_t(bytes) * 31 + uint64_t(i) + 1, row);
  for (BenchmarkTimes *times : {&row.outOfPlace, &row.inPlace})
    gatherWrong(gatherer(), *times);
  return row;
}

} // namespace heddle
