// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Times collectives as nccl-tests does: first the calls back to back, then fresh inputs and a comparison of everything.
#include "api/CollectiveTiming.h"
#include "api/HostBenchmark.h"
#include "api/NcclPeer.h"
#include "api/Sharing.h"
#include "binary/PeerAbi.h"
#include "collectives/Communicator.h"
#include "collectives/Reference.h"
#include "runtime/Driver.h"
#include "runtime/ProcessGroup.h"
#include "runtime/Stream.h"
#include "support/Error.h"
#include "support/SystemMemory.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace heddle {
namespace {

std::vector<std::shared_ptr<Device>> openDevices(const BenchmarkRequest &request) {
  if (request.devices < 1 || request.devices > maxWorldSize)
    throw inputError(fmt::format("{} devices: a collective runs on 1 to {}", request.devices, maxWorldSize));
  std::vector<std::shared_ptr<Device>> devices;
  for (int ordinal = 0; ordinal < request.devices; ++ordinal)
    devices.push_back(openDevice(fmt::format("{}:{}", request.driver, ordinal)));
  return devices;
}

/// The group of all ranks, which are of this process.
std::unique_ptr<Communicator> makeGroup(const BenchmarkRequest &request) {
  return std::make_unique<Communicator>(openDevices(request), Communicator::Options{request.timeoutSeconds});
}

void checkCounts(Driver &driver) {
  if (!TrafficCount(driver).isOn())
    throw inputError(fmt::format("`--links`: devices of `{}` do not count what they send each other", driver.name()),
                     {"simulated ones do: `--device sim:gfx942` or `--device sim:gfx950`"});
}

} // namespace

struct CollectiveBenchmark::State {
  State(BenchmarkRequest theRequest, std::unique_ptr<Communicator> theGroup)
      : request(std::move(theRequest)), ownGroup(std::move(theGroup)), group(*ownGroup) {
    if (request.peer.empty())
      return;
    std::vector<std::shared_ptr<Device>> devices;
    for (int rank = 0; rank < group.ranks(); ++rank)
      devices.push_back(group.device(rank));
    nccl = std::make_unique<NcclGroup>(devices);
  }

  /// One rank's buffers, or parts of one buffer. In place, the input lies in the second where the output's own part is,
  /// or the reverse.
  struct Memory {
    std::vector<Buffer> buffers;
    uint64_t second, secondBytes;
    uint64_t input[2], output[2]; ///< out of place, in place
  };
  void say(const Plan &plan, const char *what) const {
    if (request.progress)
      request.progress(fmt::format("{} bytes by {}: {}", sizeColumn(plan.collective), plan.algorithm->name, what));
  }
  void checkMemory(const Collective &collective) const;
  std::vector<Memory> allocate(const Collective &collective);
  void registerMemory(); ///< of the ranks of this process; collective
  void release();        ///< all memory; collective
  /// Place 0 is out of place, 1 in place.
  CollectiveCalls ownCalls(int place);
  CollectiveCalls ncclCalls(const Collective &collective, int place);
  BenchmarkTimes time(const Collective &collective, const CollectiveCalls &calls);
  struct Check {
    const Collective &collective;
    const std::vector<std::string> &inputs;
    std::vector<std::string> expected;
  };
  void check(const Collective &collective, uint64_t seed, BenchmarkRow &row);
  std::vector<PeerTraffic> countLinks(); ///< of a call out of place
  void checkPlace(const Check &given, int place, const CollectiveCalls &calls, BenchmarkTimes &times, bool isNccl);

  std::vector<std::string> gather(const std::string &mine) const; ///< from all processes
  GatherTexts gatherer() const {
    return [this](const std::string &mine) { return gather(mine); };
  }

  BenchmarkRequest request;
  std::unique_ptr<Communicator> ownGroup;
  Communicator &group;
  Communicator::Operation *operation = nullptr;
  Window *window = nullptr;        ///< with request.registered: of `memory`
  std::unique_ptr<NcclGroup> nccl; ///< null when it is not asked for
  std::vector<Memory> memory;      ///< of the ranks of this process
};

// Refused here, before the system kills the process for it.
void CollectiveBenchmark::State::checkMemory(const Collective &c) const {
  double size = double(elementSizeBytes(c.type)), larger = double(sizeColumn(c));
  double buffers = double(c.inputElements()) * size + larger;
  double copies = request.checks ? double(c.inputElements() + c.outputElements()) * size : 0;
  double needed = c.ranks * (buffers + copies) + larger, available = double(availableMemoryBytes());
  if (needed > available)
    throw environmentError(fmt::format("{} needs {:.1f} GiB for buffers{}, this machine has {:.1f} GiB left",
                                       describe(c), std::ldexp(needed, -30), request.checks ? " and the check" : "",
                                       std::ldexp(available, -30)),
                           {"give a smaller `--maxbytes`, fewer `--devices`, or `--check 0`"});
}

std::vector<CollectiveBenchmark::State::Memory> CollectiveBenchmark::State::allocate(const Collective &c) {
  uint64_t size = uint64_t(elementSizeBytes(c.type)), part = uint64_t(c.partElements()) * size;
  uint64_t input = uint64_t(c.inputElements()) * size, larger = uint64_t(sizeColumn(c));
  std::vector<Memory> all;
  for (int rank : group.localRanks()) {
    Memory one{{}, 0, std::max<uint64_t>(1, larger), {}, {}};
    uint64_t first = (std::max<uint64_t>(1, input) + 255) / 256 * 256;
    if (request.registered) {
      one.buffers.push_back(group.allocate(rank, first + one.secondBytes, "input and output"));
      one.second = one.buffers[0].address() + first;
    } else {
      one.buffers.push_back(group.device(rank)->allocate(std::max<uint64_t>(1, input), "input"));
      one.buffers.push_back(group.device(rank)->allocate(one.secondBytes, "output"));
      one.second = one.buffers[1].address();
    }
    for (const Buffer &buffer : one.buffers)
      group.stream(rank).fill(buffer, 0);
    uint64_t own = uint64_t(rank) * part;
    one.input[0] = one.buffers[0].address();
    one.output[0] = one.second;
    one.input[1] = one.second + (c.kind == CollectiveKind::AllGather ? own : 0);
    one.output[1] = one.second + (c.kind == CollectiveKind::ReduceScatter ? own : 0);
    all.push_back(std::move(one));
  }
  group.synchronize();
  return all;
}

void CollectiveBenchmark::State::registerMemory() {
  std::vector<uint64_t> addresses;
  for (const Memory &one : memory)
    addresses.push_back(one.buffers[0].address());
  window = &group.registerWindow(addresses, memory[0].buffers[0].sizeBytes(), "input and output");
}

void CollectiveBenchmark::State::release() {
  if (window)
    group.deregister(*window);
  window = nullptr;
  memory.clear();
}

CollectiveCalls CollectiveBenchmark::State::ownCalls(int place) {
  CollectiveCalls calls;
  std::vector<int> ranks = group.localRanks();
  for (int rank : ranks) {
    calls.devices.push_back(group.device(rank).get());
    calls.streams.push_back(&group.stream(rank));
  }
  calls.launch = [this, place, ranks] {
    for (size_t local = 0; local < ranks.size(); ++local) {
      const Memory &own = memory[local];
      group.launch(*operation, ranks[local], {DeviceAddress(own.input[place]), DeviceAddress(own.output[place])});
    }
  };
  if (group.processes())
    calls.slowest = [this](std::vector<double> &times) { takeSlowest(gatherer(), times); };
  calls.finish = [this] { group.synchronize(); };
  return calls;
}

CollectiveCalls CollectiveBenchmark::State::ncclCalls(const Collective &c, int place) {
  CollectiveCalls calls;
  std::vector<NcclGroup::Operands> operands;
  for (int rank = 0; rank < group.ranks(); ++rank) {
    calls.devices.push_back(group.device(rank).get());
    calls.streams.push_back(&nccl->stream(rank));
    operands.push_back({memory[size_t(rank)].input[place], memory[size_t(rank)].output[place]});
  }
  calls.launch = [this, operands, call = ncclCollective(c)] { nccl->launch(call, operands); };
  calls.finish = [streams = calls.streams] {
    if (std::exception_ptr error = synchronizeAll(streams))
      std::rethrow_exception(error);
  };
  return calls;
}

BenchmarkTimes CollectiveBenchmark::State::time(const Collective &c, const CollectiveCalls &calls) {
  BenchmarkTimes times = timeCollective(calls, request);
  times.algorithmBandwidth = double(sizeColumn(c)) / (times.average * 1e3);
  times.busBandwidth = times.algorithmBandwidth * busFactor(c.kind, c.ranks);
  return times;
}

void CollectiveBenchmark::State::checkPlace(const Check &given, int place, const CollectiveCalls &calls,
                                            BenchmarkTimes &times, bool isNccl) {
  const Collective &c = given.collective;
  std::vector<int> ranks = group.localRanks();
  for (size_t local = 0; local < ranks.size(); ++local) {
    const Memory &own = memory[local];
    const std::string &input = given.inputs[size_t(ranks[local])];
    Stream &stream = *calls.streams[local];
    stream.fill(own.second, 0xA5, own.secondBytes);
    if (!input.empty())
      stream.copyToDevice(own.input[place], input.data(), input.size());
  }
  calls.launch();
  calls.finish();
  std::string seen(size_t(c.outputElements() * elementSizeBytes(c.type)), '\0');
  for (size_t local = 0; local < ranks.size() && !seen.empty(); ++local) {
    int rank = ranks[local];
    Stream &stream = *calls.streams[local];
    stream.copyToHost(seen.data(), memory[local].output[place], seen.size());
    stream.synchronize();
    const std::string &wanted = given.expected[size_t(rank)];
    int64_t wrong = isNccl ? countBeyondTolerance(c, rank, given.inputs, seen, wanted)
                           : reference::countDifferences(c.type, seen, wanted);
    times.wrong += wrong;
    if (wrong && times.firstWrong.empty())
      times.firstWrong = fmt::format("rank {}, {}", rank, reference::firstDifference(c.type, seen, wanted));
  }
}

void CollectiveBenchmark::State::check(const Collective &c, uint64_t seed, BenchmarkRow &row) {
  auto inputs = reference::randomInputs(c, seed, /*special=*/false);
  Check given{c, inputs, reference::runCollective(c, inputs)};
  checkPlace(given, 0, ownCalls(0), row.outOfPlace, false);
  checkPlace(given, 1, ownCalls(1), row.inPlace, false);
  if (row.ncclOutOfPlace)
    checkPlace(given, 0, ncclCalls(c, 0), *row.ncclOutOfPlace, true);
  if (row.ncclInPlace)
    checkPlace(given, 1, ncclCalls(c, 1), *row.ncclInPlace, true);
}

std::vector<std::string> CollectiveBenchmark::State::gather(const std::string &mine) const {
  const ProcessGroup &processes = *group.processes();
  std::vector<std::string> texts;
  for (Neighbours::Message &each : processes.neighbours().exchange(mine, {}, request.timeoutSeconds))
    texts.push_back(std::move(each.bytes));
  return texts;
}

std::vector<PeerTraffic> CollectiveBenchmark::State::countLinks() {
  Driver &driver = group.device(0)->driver();
  TrafficCount count(driver);
  CollectiveCalls calls = ownCalls(0);
  calls.launch();
  calls.finish();
  return driver.traffic();
}

CollectiveBenchmark::CollectiveBenchmark(BenchmarkRequest request) {
  if (request.iterations < 1 || request.warmup < 0 || request.checks < 0 || request.graphReplays < 0)
    throw inputError(fmt::format("{} iterations, {} to warm up, {} checks, {} replays: there is at least one iteration",
                                 request.iterations, request.warmup, request.checks, request.graphReplays));
  checkPeer(request);
  // Operands in other processes are reached only where they are in windows.
  request.plan.direct = !request.processes || request.registered;
  request.plan.windows = request.processes && request.registered;
  if (request.processes) {
    joinProcesses(std::move(request));
    return;
  }
  std::unique_ptr<Communicator> group = makeGroup(request);
  state = std::make_unique<State>(std::move(request), std::move(group));
  if (state->request.links)
    checkCounts(state->group.device(0)->driver());
}

void CollectiveBenchmark::joinProcesses(BenchmarkRequest request) {
  if (!request.peer.empty() || request.links)
    throw inputError("`--peer` and `--links` are for devices of one process",
                     {"run `heddle bench` without `--processes`"});
  std::unique_ptr<Bootstrap> bootstrap = makeBootstrap(*request.processes);
  HostSurvey survey(*bootstrap, request.hosts);
  std::shared_ptr<Device> device = openDeviceOfRank(request.driver, bootstrap->rank());
  if (!survey.isOneHost() && request.registered)
    throw inputError("`--registered` is for ranks of one host", {"leave it out: between hosts copies are staged"});
  if (!survey.isOneHost()) {
    severalHosts = std::make_unique<HostBenchmark>(*bootstrap, device, survey, std::move(request));
    return;
  }
  Communicator::Options options{request.timeoutSeconds};
  auto group = std::make_unique<Communicator>(std::make_unique<ProcessGroup>(*bootstrap, device), options);
  state = std::make_unique<State>(std::move(request), std::move(group));
}

CollectiveBenchmark::~CollectiveBenchmark() = default;

std::optional<HostsDescription> CollectiveBenchmark::hosts() const {
  return severalHosts ? std::optional(severalHosts->describeHosts()) : std::nullopt;
}

int CollectiveBenchmark::rank() const {
  if (severalHosts)
    return severalHosts->rank();
  return state->group.localRanks().front();
}

std::vector<std::string> CollectiveBenchmark::deviceNames() const {
  if (severalHosts)
    return severalHosts->deviceNames();
  std::vector<std::string> names;
  const ProcessGroup *processes = state->group.processes();
  for (int rank = 0; rank < state->group.ranks(); ++rank)
    names.push_back(processes ? processes->deviceName(rank) : state->group.device(rank)->name());
  return names;
}

std::string CollectiveBenchmark::deviceDescription() const {
  if (severalHosts)
    return severalHosts->deviceDescription();
  return state->group.device(rank())->description();
}

std::string CollectiveBenchmark::peerDescription() const {
  return state && state->nccl ? state->nccl->description() : "";
}

BenchmarkRow CollectiveBenchmark::measure(int64_t bytes) {
  if (severalHosts)
    return severalHosts->measure(bytes);
  const BenchmarkRequest &request = state->request;
  Collective collective = collectiveOfSize(request.kind, request.type, request.reduction, state->group.ranks(), bytes);
  BenchmarkRow row;
  PlanOptions options = request.plan;
  options.computeUnits = state->group.computeUnits();
  row.plan = makePlan(collective, state->group.device(rank())->chip(), options);
  state->checkMemory(collective);
  state->say(row.plan, "compiling");
  if (request.registered)
    state->memory = state->allocate(collective), state->registerMemory();
  state->operation = &state->group.prepare(row.plan, "", "", {state->window, state->window});
  if (!request.registered)
    state->memory = state->allocate(collective);
  if (request.links)
    row.links = state->countLinks();
  state->say(row.plan, "timing");
  row.outOfPlace = state->time(collective, state->ownCalls(0));
  row.inPlace = state->time(collective, state->ownCalls(1));
  if (state->nccl) {
    state->say(row.plan, "timing NCCL");
    row.ncclOutOfPlace = state->time(collective, state->ncclCalls(collective, 0));
    if (hasNcclCalls(collective, /*inPlace=*/true))
      row.ncclInPlace = state->time(collective, state->ncclCalls(collective, 1));
  }
  for (int i = 0; i < request.checks; ++i) {
    state->say(row.plan, "checking");
    state->check(collective, uint64_t(bytes) * 31 + uint64_t(i) + 1, row);
  }
  if (state->group.processes())
    for (BenchmarkTimes *times : {&row.outOfPlace, &row.inPlace})
      gatherWrong(state->gatherer(), *times);
  state->release();
  return row;
}

} // namespace heddle
