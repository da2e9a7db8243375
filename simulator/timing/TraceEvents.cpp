// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes the events as JSON, with instructions of one kind in a row as one slice.
#include "simulator/timing/TraceEvents.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace heddle::simulator {
namespace {

/// Tracks in the order in which they are shown: LDS, matrix units, waves.
constexpr unsigned ldsTrack = 1, firstMatrixTrack = 2, firstWaveTrack = 100, wavesPerGroup = 16;

/// As a string of JSON, with its quotes; what is no UTF-8 is replaced.
std::string quoted(const std::string &name) {
  using nlohmann::json;
  return json(name).dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
}

} // namespace

bool TraceEvents::takes(size_t group) {
  if (group >= groups)
    return false;
  if (count < mostEvents)
    return ++count;
  ++droppedEvents;
  return false;
}

unsigned TraceEvents::trackOfWave(size_t group, unsigned wave) {
  unsigned track = firstWaveTrack + unsigned(group) * wavesPerGroup + wave;
  trackNames.try_emplace(track, fmt::format("workgroup {} wave {}", group, wave));
  return track;
}

void TraceEvents::close(unsigned track, Slice &slice) {
  if (slice.count)
    add(fmt::format(
        R"({{"name":"{}","cat":"issue","ph":"X","pid":0,"tid":{},"ts":{},"dur":{},"args":{{"instructions":{}}}}})",
        nameOf(slice.kind), track, slice.begin, slice.end - slice.begin, slice.count));
  slice = {};
}

void TraceEvents::issue(size_t group, unsigned wave, InstructionKind kind, uint64_t ready, uint64_t time, Bound bound) {
  if (group >= groups)
    return;
  constexpr uint64_t turn = 4;
  unsigned track = trackOfWave(group, wave);
  Slice &slice = open[track];
  if (slice.count && slice.kind == kind && slice.end == time) {
    slice.end += turn;
    ++slice.count;
    return;
  }
  close(track, slice);
  if (!takes(group))
    return;
  if (time > ready)
    add(fmt::format(R"({{"name":"waits: {}","cat":"wait","ph":"X","pid":0,"tid":{},"ts":{},"dur":{}}})", nameOf(bound),
                    track, ready, time - ready));
  slice = {kind, time, time + turn, 1};
}

void TraceEvents::busy(Unit unit, unsigned number, size_t group, const std::string &mnemonic, uint64_t begin,
                       uint64_t cycles) {
  if (!cycles || !takes(group))
    return;
  unsigned track = unit == Unit::Lds ? ldsTrack : firstMatrixTrack + number;
  trackNames.try_emplace(track, unit == Unit::Lds ? "LDS" : fmt::format("matrix unit of SIMD {}", number));
  add(fmt::format(
      R"({{"name":"{}","cat":"unit","ph":"X","pid":0,"tid":{},"ts":{},"dur":{},"args":{{"workgroup":{}}}}})", mnemonic,
      track, begin, cycles, group));
}

void TraceEvents::inFlight(size_t group, unsigned wave, const std::string &mnemonic, uint64_t begin, uint64_t cycles,
                           unsigned bytes) {
  if (!takes(group))
    return;
  unsigned id = nextFlight++;
  add(fmt::format(
      R"({{"name":"{}","cat":"memory in flight","ph":"b","pid":0,"tid":{},"id":{},"ts":{},"args":{{"bytes":{},"workgroup":{},"wave":{}}}}})",
      mnemonic, trackOfWave(group, wave), id, begin, bytes, group, wave));
  add(fmt::format(R"({{"name":"{}","cat":"memory in flight","ph":"e","pid":0,"tid":{},"id":{},"ts":{}}})", mnemonic,
                  trackOfWave(group, wave), id, begin + cycles));
}

std::string TraceEvents::json(const std::string &title) {
  for (auto &[track, slice] : open)
    close(track, slice);
  std::string head =
      fmt::format(R"({{"displayTimeUnit":"ns","otherData":{{"estimate":"1 us here is 1 cycle","dropped":{}}},
"traceEvents":[
{{"name":"process_name","ph":"M","pid":0,"args":{{"name":{}}}}})",
                  droppedEvents, quoted(title));
  for (const auto &[track, name] : trackNames)
    head += fmt::format(",\n"
                        R"({{"name":"thread_name","ph":"M","pid":0,"tid":{},"args":{{"name":"{}"}}}})"
                        ",\n"
                        R"({{"name":"thread_sort_index","ph":"M","pid":0,"tid":{},"args":{{"sort_index":{}}}}})",
                        track, name, track, track);
  return head + events + "\n]}\n";
}

} // namespace heddle::simulator
