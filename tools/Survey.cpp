// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Groups refusals and unknown instructions, and prints totals.
#include "tools/Survey.h"
#include "api/SurveyObjects.h"
#include "tools/Check.h"
#include "tools/Output.h"
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

namespace heddle {
namespace {

using Objects = std::vector<SurveyedObject>;

/// The first object, and how many there are.
struct Group {
  size_t objects = 0;
  const SurveyedObject *first = nullptr;
  void add(const SurveyedObject &object) { first = objects++ ? first : &object; }
};

struct Summary {
  SurveyCounts all;
  size_t refused = 0, withUnknown = 0;
  std::map<std::string, Group> reasons, unknown; ///< by reason, by mnemonic
  explicit Summary(const Objects &objects) {
    for (const SurveyedObject &object : objects) {
      all.add(object.counts);
      if (!object.error.empty()) {
        ++refused;
        reasons[object.reason].add(object);
      }
      withUnknown += !object.counts.unknown.empty();
      for (const auto &[name, count] : object.counts.unknown)
        unknown[name].add(object);
    }
  }
  size_t tooLong() const {
    size_t sum = 0;
    for (const auto &[name, count] : all.tooLong)
      sum += count;
    return sum;
  }
  size_t tooLong(const std::string &name) const {
    auto found = all.tooLong.find(name);
    return found == all.tooLong.end() ? 0 : found->second;
  }
};

double percent(size_t part, size_t all) {
  return all ? 100 * double(part) / double(all) : 0;
}

std::string formatWaits(const Summary &summary) {
  const SurveyCounts &all = summary.all;
  size_t tooLong = summary.tooLong();
  std::string text = fmt::format("\n{} waits: {} too long ({:.1f} %), {} without effect\n", all.waits, tooLong,
                                 percent(tooLong, all.waits), all.waitsForNothing);
  std::vector<std::vector<std::string>> rows = {{"too long", "waits", "%", "an exact count"}};
  for (const CountClassText &kind : tooLongClasses())
    rows.push_back({kind.name, std::to_string(summary.tooLong(kind.name)),
                    fmt::format("{:.1f}", percent(summary.tooLong(kind.name), tooLong)), kind.what});
  return text + formatTable(rows);
}

std::string formatSummary(const Summary &summary, bool waits) {
  const SurveyCounts &all = summary.all;
  std::vector<std::vector<std::string>> rows = {
      {"objects", fmt::format("{}: {} read, {} refused", all.objects, all.objects - summary.refused, summary.refused)},
      {"kernels", fmt::format("{}, {} of them read only in part", all.kernels, all.partlyRead)},
      {"instructions", fmt::format("{}", all.instructions)}};
  size_t unknown = 0;
  for (const auto &[name, count] : all.unknown)
    unknown += count;
  rows.push_back({"unknown", fmt::format("{} instructions of {} mnemonics in {} objects", unknown, all.unknown.size(),
                                         summary.withUnknown)});
  std::string text = formatTable(rows);
  for (const auto &[name, group] : summary.unknown)
    text += fmt::format("unknown {}: {} in {} objects, the first {}\n", name.empty() ? "(no instruction)" : name,
                        all.unknown.at(name), group.objects, group.first->file);
  for (const auto &[reason, group] : summary.reasons)
    text += fmt::format("refused {}: {}\n  the first: {}\n", group.objects, reason, group.first->error);
  return waits ? text + formatWaits(summary) : text;
}

nlohmann::ordered_json asJson(const SurveyCounts &counts, bool waits) {
  nlohmann::ordered_json json = {{"kernels", counts.kernels},
                                 {"instructions", counts.instructions},
                                 {"partlyRead", counts.partlyRead},
                                 {"unknown", counts.unknown}};
  if (!waits)
    return json;
  json["waits"] = {{"all", counts.waits}, {"forNothing", counts.waitsForNothing}};
  json["waits"]["tooLong"] = nlohmann::ordered_json::object();
  for (const CountClassText &kind : tooLongClasses()) {
    auto found = counts.tooLong.find(kind.name);
    json["waits"]["tooLong"][kind.name] = found == counts.tooLong.end() ? 0 : found->second;
  }
  return json;
}

nlohmann::ordered_json asJson(const Objects &objects, const Summary &summary, bool waits) {
  nlohmann::ordered_json json = {{"objects", summary.all.objects}, {"refused", summary.refused}};
  json.update(asJson(summary.all, waits));
  json["errors"] = nlohmann::ordered_json::array();
  for (const auto &[reason, group] : summary.reasons)
    json["errors"].push_back({{"reason", reason}, {"objects", group.objects}});
  json["list"] = nlohmann::ordered_json::array();
  for (const SurveyedObject &object : objects) {
    nlohmann::ordered_json each = {{"file", object.file}, {"error", object.error}};
    each.update(asJson(object.counts, waits));
    json["list"].push_back(std::move(each));
  }
  return json;
}

} // namespace

int inspectMany(const SurveyOptions &options) {
  SurveyRequest request;
  request.files = findObjects(options.paths);
  request.waits = options.waits;
  request.progress = makeProgress("object");
  Objects objects = surveyObjects(request);
  Summary summary(objects);
  if (options.json)
    printJson(asJson(objects, summary, options.waits));
  else
    printData(formatSummary(summary, options.waits));
  return summary.refused || !summary.unknown.empty() ? int(ErrorClass::WrongResult) : 0;
}

} // namespace heddle
