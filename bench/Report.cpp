// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rows as a table, and as JSON, by which a row's process tells its parent.
#include "bench/Report.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

using nlohmann::json;

namespace heddle::bench {
namespace {

json toJson(const Spread &spread) {
  return {{"least", spread.least}, {"p10", spread.p10}, {"p50", spread.p50}, {"p90", spread.p90}};
}

std::string verdict(const json &row) {
  return row["target"] == 0 ? "" : row["met"] ? "met" : "MISSED";
}

std::string comparisonLine(const json &row) {
  const json &speed = row["speed"];
  std::string target = row["target"] == 0 ? "" : fmt::format(">= {:.2f}", row["target"].get<double>());
  return fmt::format("{:<24}{:>9}{:>8.2f}{:>8.2f} - {:<6.2f}{:>6.2f}{:>11.3f}{:>11.3f}  {:<7}{}\n",
                     row["row"].get<std::string>(), target, speed["p50"].get<double>(), speed["p10"].get<double>(),
                     speed["p90"].get<double>(), row["speed_of_best"].get<double>(),
                     row["heddle_ms"]["p50"].get<double>(), row["other_ms"]["p50"].get<double>(), verdict(row),
                     row["rate"].get<std::string>());
}

std::string timeLine(const json &row) {
  const json &time = row["ms"];
  double target = row["target"];
  int digits = target < 1 ? 3 : 1;
  std::string line = fmt::format("{:<32}{:>6}{:>8.{}f}{:>8.{}f} - {:<8.{}f}{:<7}", row["row"].get<std::string>(),
                                 fmt::format("<= {:g}", target), time["p50"].get<double>(), digits,
                                 time["p10"].get<double>(), digits, time["p90"].get<double>(), digits, verdict(row));
  for (const json &phase : row["phases"])
    if (phase["ms"] >= 0.5)
      line += fmt::format(" {} {:.1f}", phase["phase"].get<std::string>(), phase["ms"].get<double>());
  return line + "\n";
}

} // namespace

json toJson(const Row &row, const Outcome &outcome) {
  json result = {{"row", row.name}, {"what", row.what}, {"threads", row.threads}, {"target", row.target}};
  if (!outcome.skipped.empty()) {
    result["skipped"] = outcome.skipped;
  } else if (outcome.comparison) {
    const Comparison &found = *outcome.comparison;
    result["speed"] = toJson(found.speed);
    result["speed_of_best"] = found.speedOfBest;
    result["heddle_ms"] = toJson(found.heddleMilliseconds);
    result["other_ms"] = toJson(found.otherMilliseconds);
    result["samples"] = found.samples;
    result["rate"] = outcome.rate;
    result["met"] = found.speed.p50 >= row.target;
  } else {
    result["ms"] = toJson(*outcome.milliseconds);
    result["met"] = outcome.milliseconds->p50 <= row.target;
    result["phases"] = json::array();
    for (const auto &[phase, milliseconds] : outcome.phases)
      result["phases"].push_back({{"phase", phase}, {"ms", milliseconds}});
  }
  return result;
}

std::string table(const json &rows) {
  std::string comparisons, times, rest;
  for (const json &row : rows) {
    if (row.contains("speed"))
      comparisons += comparisonLine(row);
    else if (row.contains("ms"))
      times += timeLine(row);
    else
      rest += fmt::format("{:<24}{}\n", row["row"].get<std::string>(),
                          row.contains("error") ? "error: " + row["error"].get<std::string>()
                                                : "skipped: " + row["skipped"].get<std::string>());
  }
  std::string text;
  if (!comparisons.empty())
    text += fmt::format("{:<24}{:>9}{:>8}{:>8} - {:<6}{:>6}{:>11}{:>11}\n", "speed (other / Heddle)", "target", "p50",
                        "p10", "p90", "best", "Heddle ms", "other ms") +
            comparisons;
  if (!times.empty())
    text += fmt::format("{}{:<32}{:>6}{:>8}{:>8} - {:<8}{:<7} phases of 0.5 ms and more, p50\n",
                        text.empty() ? "" : "\n", "milliseconds", "target", "p50", "p10", "p90", "") +
            times;
  return text + (rest.empty() ? "" : "\n" + rest);
}

} // namespace heddle::bench
