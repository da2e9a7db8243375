// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Times collectives as nccl-tests does: first the calls back to back, then fresh inputs and a comparison of everything.
#include "api/Collectives.h"
#include "binary/PeerAbi.h"
#include "collectives/Communicator.h"
#include "collectives/Reference.h"
#include "runtime/Driver.h"
#include "runtime/Event.h"
#include "runtime/Graph.h"
#include "runtime/Stream.h"
#include "support/Error.h"
#include "support/SystemMemory.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>

namespace heddle {
namespace {

using Clock = std::chrono::steady_clock;

double microsecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

std::vector<std::shared_ptr<Device>> openDevices(const BenchmarkRequest &request) {
  if (request.devices < 1 || request.devices > maxWorldSize)
    throw inputError(fmt::format("{} devices: a collective runs on 1 to {}", request.devices, maxWorldSize));
  std::vector<std::shared_ptr<Device>> devices;
  for (int ordinal = 0; ordinal < request.devices; ++ordinal)
    devices.push_back(openDevice(fmt::format("{}:{}", request.driver, ordinal)));
  return devices;
}

} // namespace

struct CollectiveBenchmark::State {
  explicit State(BenchmarkRequest theRequest)
      : request(std::move(theRequest)), group(openDevices(request), {request.timeoutSeconds, 1}) {}

  /// One rank's buffers. In place, the input lies in `second` where the output's own part is, or the reverse.
  struct Memory {
    Buffer first, second;
    uint64_t input[2], output[2]; ///< out of place, in place
  };
  void say(const Plan &plan, const char *what) const {
    if (request.progress)
      request.progress(fmt::format("{} bytes by {}: {}", sizeColumn(plan.collective), plan.algorithm->name, what));
  }
  void checkMemory(const Collective &collective) const;
  std::vector<Memory> allocate(const Collective &collective);
  void launchRank(int rank, int place) {
    const Memory &own = memory[size_t(rank)];
    group.launch(*operation, rank, {DeviceAddress(own.input[place]), DeviceAddress(own.output[place])});
  }
  void launch(int place) {
    for (int rank = 0; rank < group.ranks(); ++rank)
      launchRank(rank, place);
  }
  /// Communicator::synchronize also looks for failures, which takes longer than a small call.
  void wait() {
    for (int rank = 0; rank < group.ranks(); ++rank)
      group.stream(rank).synchronize();
  }
  BenchmarkTimes time(const Plan &plan, int place);
  std::vector<double> timeCalls(int place, double &average);
  std::vector<double> timeGraphs(int place, double &average);
  void check(const Plan &plan, uint64_t seed, BenchmarkRow &row);
  void checkPlace(const Collective &collective, int place, const std::vector<std::string> &inputs,
                  const std::vector<std::string> &expected, BenchmarkTimes &times);

  BenchmarkRequest request;
  Communicator group;
  Communicator::Operation *operation = nullptr;
  std::vector<Memory> memory;
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
  for (int rank = 0; rank < group.ranks(); ++rank) {
    Memory one{group.device(rank)->allocate(std::max<uint64_t>(1, input), "input"),
               group.device(rank)->allocate(std::max<uint64_t>(1, larger), "output"),
               {},
               {}};
    group.stream(rank).fill(one.first, 0);
    group.stream(rank).fill(one.second, 0);
    uint64_t own = uint64_t(rank) * part;
    one.input[0] = one.first.address();
    one.output[0] = one.second.address();
    one.input[1] = one.second.address() + (c.kind == CollectiveKind::AllGather ? own : 0);
    one.output[1] = one.second.address() + (c.kind == CollectiveKind::ReduceScatter ? own : 0);
    all.push_back(std::move(one));
  }
  group.synchronize();
  return all;
}

// Calls back to back, then one by one.
std::vector<double> CollectiveBenchmark::State::timeCalls(int place, double &average) {
  auto start = Clock::now();
  for (int i = 0; i < request.iterations; ++i)
    launch(place);
  wait();
  average = microsecondsSince(start) / request.iterations;
  group.synchronize();
  std::vector<double> single;
  for (int i = 0; i < request.iterations; ++i) {
    auto begin = Clock::now();
    launch(place);
    wait();
    single.push_back(microsecondsSince(begin));
  }
  return single;
}

// Each rank replays a graph of a few calls, which bring the ranks together, and then the one that is timed, by events
// of its stream: what the host does in between is not in the time.
std::vector<double> CollectiveBenchmark::State::timeGraphs(int place, double &average) {
  constexpr int gatheringCalls = 4;
  struct RankGraphs {
    std::unique_ptr<Graph> gathering, timed;
    std::shared_ptr<Event> start, end;
  };
  std::vector<RankGraphs> graphs(size_t(group.ranks()));
  auto capture = [&](int calls, std::unique_ptr<Graph> RankGraphs::*graph) {
    for (int rank = 0; rank < group.ranks(); ++rank) {
      group.stream(rank).beginCapture();
      for (int i = 0; i < calls; ++i)
        launchRank(rank, place);
      graphs[size_t(rank)].*graph = group.stream(rank).endCapture();
    }
  };
  capture(gatheringCalls, &RankGraphs::gathering);
  capture(request.iterations, &RankGraphs::timed);
  for (int rank = 0; rank < group.ranks(); ++rank)
    for (std::shared_ptr<Event> *event : {&graphs[size_t(rank)].start, &graphs[size_t(rank)].end})
      *event = group.device(rank)->createEvent();
  std::vector<double> times;
  for (int replay = 0; replay < request.graphReplays + request.warmup; ++replay) {
    for (int rank = 0; rank < group.ranks(); ++rank) {
      RankGraphs &own = graphs[size_t(rank)];
      Stream &stream = group.stream(rank);
      stream.launch(*own.gathering);
      stream.record(own.start);
      stream.launch(*own.timed);
      stream.record(own.end);
    }
    wait();
    double slowest = 0;
    for (RankGraphs &own : graphs)
      slowest = std::max(slowest, own.end->millisecondsSince(*own.start) * 1e3 / request.iterations);
    if (replay >= request.warmup)
      times.push_back(slowest);
  }
  average = 0;
  for (double time : times)
    average += time / double(times.size());
  return times;
}

BenchmarkTimes CollectiveBenchmark::State::time(const Plan &plan, int place) {
  const Collective &c = plan.collective;
  for (int i = 0; i < request.warmup; ++i)
    launch(place);
  group.synchronize();
  BenchmarkTimes times;
  std::vector<double> single =
      request.graphReplays ? timeGraphs(place, times.average) : timeCalls(place, times.average);
  group.synchronize();
  std::sort(single.begin(), single.end());
  times.minimum = single.front();
  times.p50 = single[single.size() / 2];
  times.maximum = single.back();
  times.algorithmBandwidth = double(sizeColumn(c)) / (times.average * 1e3);
  times.busBandwidth = times.algorithmBandwidth * busFactor(c.kind, c.ranks);
  return times;
}

void CollectiveBenchmark::State::checkPlace(const Collective &c, int place, const std::vector<std::string> &inputs,
                                            const std::vector<std::string> &expected, BenchmarkTimes &times) {
  for (int rank = 0; rank < group.ranks(); ++rank) {
    const Memory &own = memory[size_t(rank)];
    group.stream(rank).fill(own.second, 0xA5);
    if (!inputs[size_t(rank)].empty())
      group.stream(rank).copyToDevice(own.input[place], inputs[size_t(rank)].data(), inputs[size_t(rank)].size());
  }
  launch(place);
  group.synchronize();
  std::string seen(size_t(c.outputElements() * elementSizeBytes(c.type)), '\0');
  for (int rank = 0; rank < group.ranks() && !seen.empty(); ++rank) {
    group.stream(rank).copyToHost(seen.data(), memory[size_t(rank)].output[place], seen.size());
    group.stream(rank).synchronize();
    const std::string &wanted = expected[size_t(rank)];
    int64_t wrong = reference::countDifferences(c.type, seen, wanted);
    times.wrong += wrong;
    if (wrong && times.firstWrong.empty())
      times.firstWrong = fmt::format("rank {}, {}", rank, reference::firstDifference(c.type, seen, wanted));
  }
}

void CollectiveBenchmark::State::check(const Plan &plan, uint64_t seed, BenchmarkRow &row) {
  const Collective &c = plan.collective;
  auto inputs = reference::randomInputs(c, seed, /*special=*/false);
  auto expected = reference::runCollective(c, inputs);
  checkPlace(c, 0, inputs, expected, row.outOfPlace);
  checkPlace(c, 1, inputs, expected, row.inPlace);
}

CollectiveBenchmark::CollectiveBenchmark(BenchmarkRequest request) {
  if (request.iterations < 1 || request.warmup < 0 || request.checks < 0 || request.graphReplays < 0)
    throw inputError(fmt::format("{} iterations, {} to warm up, {} checks, {} replays: there is at least one iteration",
                                 request.iterations, request.warmup, request.checks, request.graphReplays));
  request.plan.direct = true;
  state = std::make_unique<State>(std::move(request));
}

CollectiveBenchmark::~CollectiveBenchmark() = default;

std::vector<std::string> CollectiveBenchmark::deviceNames() const {
  std::vector<std::string> names;
  for (int rank = 0; rank < state->group.ranks(); ++rank)
    names.push_back(state->group.device(rank)->name());
  return names;
}

std::string CollectiveBenchmark::deviceDescription() const {
  return state->group.device(0)->description();
}

BenchmarkRow CollectiveBenchmark::measure(int64_t bytes) {
  const BenchmarkRequest &request = state->request;
  Collective collective = collectiveOfSize(request.kind, request.type, request.reduction, state->group.ranks(), bytes);
  BenchmarkRow row;
  row.plan = makePlan(collective, state->group.device(0)->chip(), request.plan);
  state->checkMemory(collective);
  state->say(row.plan, "compiling");
  state->operation = &state->group.prepare(row.plan);
  state->memory = state->allocate(collective);
  state->say(row.plan, "timing");
  row.outOfPlace = state->time(row.plan, 0);
  row.inPlace = state->time(row.plan, 1);
  for (int i = 0; i < request.checks; ++i) {
    state->say(row.plan, "checking");
    state->check(row.plan, uint64_t(bytes) * 31 + uint64_t(i) + 1, row);
  }
  state->memory.clear();
  return row;
}

} // namespace heddle
