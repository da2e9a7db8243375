// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rows of the estimate, and the same as JSON.
#include "tools/Timing.h"
#include "tools/Output.h"
#include "tools/Places.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace heddle {
namespace {

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string describeSeconds(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.2f} us", seconds * 1e6) : fmt::format("{:.3f} ms", seconds * 1e3);
}

std::string describeGroups(const SimulatedTiming &timing) {
  std::string text = fmt::format(
      "{} of {} compute units have workgroups, {} the fullest; {} timed, {} at once, limited by {}", timing.activeUnits,
      timing.computeUnits, timing.unitGroups, timing.timedGroups, timing.residentGroups, timing.occupancyLimit);
  if (timing.timedGroups < timing.unitGroups)
    text += "; the rest extrapolated";
  if (timing.untimed)
    text += fmt::format("; {} of their {} instructions extrapolated", timing.untimed, timing.timed + timing.untimed);
  return text;
}

std::vector<std::vector<std::string>> rowsOf(const SimulatedTiming &timing) {
  std::vector<std::vector<std::string>> rows = {
      {"figure", "value", ""},
      {"cycles", fmt::format("{:.0f}", timing.cycles),
       fmt::format("{} at {:.1f} GHz", timing.product, timing.clockHz * 1e-9)},
      {"time", describeSeconds(timing.seconds), ""}};
  for (const SimulatedTiming::Share &bound : timing.bounds)
    if (bound.share >= 0.0005)
      rows.push_back({"bound: " + bound.name, percent(bound.share), ""});
  rows.push_back({"matrix units busy", percent(timing.matrixBusy),
                  fmt::format("{:.1f} TFLOP/s", timing.matrixOperationsPerSecond * 1e-12)});
  rows.push_back({"vector units busy", percent(timing.vectorBusy), ""});
  rows.push_back({"LDS busy", percent(timing.ldsBusy),
                  fmt::format("{} cycles of bank conflicts in {} instructions", timing.ldsConflictCycles,
                              timing.ldsInstructions)});
  rows.push_back(
      {"memory", percent(timing.memoryBytesPerSecond / timing.memoryPeakBytesPerSecond),
       fmt::format("{:.2f} of {:.1f} TB/s, {} bytes read, {} written", timing.memoryBytesPerSecond * 1e-12,
                   timing.memoryPeakBytesPerSecond * 1e-12, timing.memoryReadBytes, timing.memoryWrittenBytes)});
  return rows;
}

} // namespace

std::string describeTiming(const SimulatedTiming &timing) {
  std::string text = "time: an estimate, not a measurement\n  " + describeGroups(timing) + "\n";
  text += formatTable(rowsOf(timing));
  if (timing.waiting.empty())
    return text;
  std::vector<std::vector<std::string>> rows = {{"waiting", "for", "executed", "instruction"}};
  for (const SimulatedTiming::WaitingInstruction &each : timing.waiting) {
    std::string where = fmt::format("pc 0x{:x}{}", each.place.pc, each.source.empty() ? "" : " (" + each.source + ")");
    rows.push_back({percent(each.share), each.bound, std::to_string(each.executed), where + "  " + each.text});
  }
  return text + formatTable(rows);
}

nlohmann::ordered_json timingAsJson(const SimulatedTiming &timing) {
  nlohmann::ordered_json bounds, waiting = nlohmann::ordered_json::array();
  for (const SimulatedTiming::Share &bound : timing.bounds)
    bounds[bound.name] = bound.share;
  for (const SimulatedTiming::WaitingInstruction &each : timing.waiting)
    waiting.push_back({{"place", placesAsJson({each.place})[0]},
                       {"instruction", each.text},
                       {"bound", each.bound},
                       {"executed", each.executed},
                       {"share", each.share}});
  return {{"isEstimate", true},
          {"product", timing.product},
          {"clockHz", timing.clockHz},
          {"cycles", timing.cycles},
          {"seconds", timing.seconds},
          {"computeUnits", timing.computeUnits},
          {"activeUnits", timing.activeUnits},
          {"unitGroups", timing.unitGroups},
          {"timedGroups", timing.timedGroups},
          {"residentGroups", timing.residentGroups},
          {"occupancyLimit", timing.occupancyLimit},
          {"instructions", timing.timed},
          {"extrapolatedInstructions", timing.untimed},
          {"bounds", bounds},
          {"matrixBusy", timing.matrixBusy},
          {"vectorBusy", timing.vectorBusy},
          {"ldsBusy", timing.ldsBusy},
          {"matrixOperationsPerSecond", timing.matrixOperationsPerSecond},
          {"ldsInstructions", timing.ldsInstructions},
          {"ldsConflictCycles", timing.ldsConflictCycles},
          {"memoryReadBytes", timing.memoryReadBytes},
          {"memoryWrittenBytes", timing.memoryWrittenBytes},
          {"memoryBytesPerSecond", timing.memoryBytesPerSecond},
          {"memoryPeakBytesPerSecond", timing.memoryPeakBytesPerSecond},
          {"waiting", waiting}};
}

} // namespace heddle
