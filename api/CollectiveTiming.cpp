// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Times calls by the host's clock, or in graphs by the devices' own. The slowest rank's time counts.
#include "api/CollectiveTiming.h"
#include "runtime/Device.h"
#include "runtime/Event.h"
#include "runtime/Graph.h"
#include "runtime/Stream.h"
#include "runtime/processes/Frame.h"
#include "runtime/processes/Neighbours.h"
#include <algorithm>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <numeric>

namespace heddle {
namespace {

using Clock = std::chrono::steady_clock;

double microsecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

/// To look for failures as well takes longer than a small call.
void wait(const CollectiveCalls &calls) {
  for (Stream *stream : calls.streams)
    stream->synchronize();
}

// Calls back to back, then one by one.
std::vector<double> timeCalls(const CollectiveCalls &calls, const BenchmarkRequest &request, double &average) {
  if (calls.slowest) { // processes begin together
    std::vector<double> nothing;
    calls.slowest(nothing);
    calls.launch();
    wait(calls);
  }
  auto start = Clock::now();
  for (int i = 0; i < request.iterations; ++i)
    calls.launch();
  wait(calls);
  average = microsecondsSince(start) / request.iterations;
  calls.finish();
  std::vector<double> single;
  for (int i = 0; i < request.iterations; ++i) {
    auto begin = Clock::now();
    calls.launch();
    wait(calls);
    single.push_back(microsecondsSince(begin));
  }
  return single;
}

struct RankGraphs {
  std::unique_ptr<Graph> gathering, timed;
  std::shared_ptr<Event> start, end;
};

// All streams are captured at once: a library that launches for all ranks in one call does so into all of them.
void capture(const CollectiveCalls &calls, int count, std::vector<RankGraphs> &graphs,
             std::unique_ptr<Graph> RankGraphs::*graph) {
  for (Stream *stream : calls.streams)
    stream->beginCapture();
  for (int i = 0; i < count; ++i)
    calls.launch();
  for (size_t rank = 0; rank < graphs.size(); ++rank)
    graphs[rank].*graph = calls.streams[rank]->endCapture();
}

// Each rank replays a graph of a few calls, which bring the ranks together, and then the one that is timed, by events
// of its stream: what the host does in between is not in the time.
std::vector<double> timeGraphs(const CollectiveCalls &calls, const BenchmarkRequest &request, double &average) {
  constexpr int gatheringCalls = 4;
  std::vector<RankGraphs> graphs(calls.streams.size());
  capture(calls, gatheringCalls, graphs, &RankGraphs::gathering);
  capture(calls, request.iterations, graphs, &RankGraphs::timed);
  for (size_t rank = 0; rank < graphs.size(); ++rank)
    for (std::shared_ptr<Event> *event : {&graphs[rank].start, &graphs[rank].end})
      *event = calls.devices[rank]->createEvent();
  std::vector<double> times;
  for (int replay = 0; replay < request.graphReplays + request.warmup; ++replay) {
    for (size_t rank = 0; rank < graphs.size(); ++rank) {
      Stream &stream = *calls.streams[rank];
      stream.launch(*graphs[rank].gathering);
      stream.record(graphs[rank].start);
      stream.launch(*graphs[rank].timed);
      stream.record(graphs[rank].end);
    }
    wait(calls);
    double slowest = 0;
    for (RankGraphs &own : graphs)
      slowest = std::max(slowest, own.end->millisecondsSince(*own.start) * 1e3 / request.iterations);
    if (replay >= request.warmup)
      times.push_back(slowest);
  }
  average = std::accumulate(times.begin(), times.end(), 0.0) / double(times.size());
  return times;
}

} // namespace

void takeSlowest(const GatherTexts &gather, std::vector<double> &times) {
  constexpr size_t most = Neighbours::mostBytes / sizeof(double);
  size_t at = 0;
  do {
    size_t count = std::min(most, times.size() - at);
    for (const std::string &text :
         gather(std::string(reinterpret_cast<char *>(times.data() + at), count * sizeof(double)))) {
      std::vector<double> theirs(count);
      if (text.size() != count * sizeof(double))
        throw environmentError(
            fmt::format("a rank has {} bytes of times, this one {}", text.size(), count * sizeof(double)),
            {"every process measures the same, with the same options"});
      std::memcpy(theirs.data(), text.data(), text.size());
      for (size_t i = 0; i < count; ++i)
        times[at + i] = std::max(times[at + i], theirs[i]);
    }
    at += count;
  } while (at < times.size());
}

void gatherWrong(const GatherTexts &gather, BenchmarkTimes &times) {
  FieldWriter mine;
  mine.number(uint64_t(times.wrong)).text(times.firstWrong.substr(0, 1000));
  times.wrong = 0;
  times.firstWrong.clear();
  for (const std::string &text : gather(mine.bytes)) {
    FieldReader theirs(text, "a rank");
    times.wrong += int64_t(theirs.number(INT64_MAX));
    std::string first = theirs.text(1000);
    if (times.firstWrong.empty())
      times.firstWrong = first;
  }
}

BenchmarkTimes timeCollective(const CollectiveCalls &calls, const BenchmarkRequest &request) {
  for (int i = 0; i < request.warmup; ++i)
    calls.launch();
  calls.finish();
  BenchmarkTimes times;
  std::vector<double> single =
      request.graphReplays ? timeGraphs(calls, request, times.average) : timeCalls(calls, request, times.average);
  calls.finish();
  if (calls.slowest) {
    single.push_back(times.average);
    calls.slowest(single);
    times.average = single.back();
    single.pop_back();
  }
  std::sort(single.begin(), single.end());
  times.minimum = single.front();
  times.p50 = single[single.size() / 2];
  times.maximum = single.back();
  return times;
}

} // namespace heddle
