// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the entry for a key: the same, or one that differs only in what the key says may differ.
#include "autotune/Lookup.h"
#include "autotune/Exchange.h"
#include "autotune/ShippedResults.inc.h"
#include "autotune/Space.h"
#include "support/Error.h"
#include "support/Knobs.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>

namespace heddle::autotune {

using namespace kernels;

namespace {

/// How far extents are from those that were measured, in powers of two; none where they do not match.
std::optional<double> distanceOf(const LibraryKernel &kernel, const std::string &own, const std::string &measured) {
  if (own == measured)
    return 0;
  auto ours = numbersOf(own), theirs = numbersOf(measured);
  double distance = 0;
  for (const auto &[name, value] : ours) {
    auto other = theirs.find(name);
    if (other == theirs.end())
      return std::nullopt;
    if (other->second == value)
      continue;
    const std::vector<std::string> &counts = kernel.tuning.counts;
    bool isCount = std::find(counts.begin(), counts.end(), name) != counts.end();
    if (!isCount || value < 1 || other->second < 1 ||
        std::bit_ceil(uint64_t(value)) != std::bit_ceil(uint64_t(other->second)))
      return std::nullopt;
    distance += std::abs(std::log2(double(value) / double(other->second)));
  }
  return ours.size() == theirs.size() ? std::optional(distance) : std::nullopt;
}

struct Ranked {
  Match match;
  double distance = 0;
};

/// None for a result that is of no use for the call.
std::optional<Ranked> rank(const TunedResult &result, const LibraryKernel &kernel, const Key &own, bool hasPlace) {
  Ranked ranked{{result, {}}, 0};
  for (const KeyPart &part : keyParts()) {
    std::string name = part.name, value = result.key[name];
    if (value == own[name])
      continue;
    bool isOfPlace = name == "device" || name == "driver" || name == "clock";
    if (name == "clock" && (value == "estimate") != (own[name] == "estimate"))
      return std::nullopt; // an estimate says little of a device, and the reverse
    if (!hasPlace && isOfPlace) {
      if (name == "device")
        ranked.match.differences.push_back(fmt::format("measured on {}", value));
      continue;
    }
    if (!part.mayDiffer)
      return std::nullopt;
    if (name == "extents") {
      std::optional<double> distance = distanceOf(kernel, own[name], value);
      if (!distance)
        return std::nullopt;
      ranked.distance = *distance;
    }
    ranked.match.differences.push_back(fmt::format("measured with {} {}, and this is {}", name, value, own[name]));
  }
  return ranked;
}

bool isBetter(const Ranked &a, const Ranked &b) {
  if (a.distance != b.distance)
    return a.distance < b.distance;
  if (a.match.differences.size() != b.match.differences.size())
    return a.match.differences.size() < b.match.differences.size();
  if (a.match.result.measuredAt != b.match.result.measuredAt)
    return a.match.result.measuredAt > b.match.result.measuredAt;
  return a.match.result.key.id() < b.match.result.key.id();
}

std::string describe(const Match &match) {
  const TunedResult &result = match.result;
  std::string text = fmt::format("tuned: `{}`, {}key {}", textOf(result.configuration),
                                 result.origin == "measured" ? "" : result.origin + " ", result.key.id());
  if (!result.configuration.empty())
    text += fmt::format(", {:.1f} % less time than the default", 100 * result.gain);
  for (const std::string &difference : match.differences)
    text += "; " + difference;
  return text;
}

} // namespace

std::optional<Match> findMatch(const std::vector<TunedResult> &results, const LibraryKernel &kernel,
                               const CallRequest &request, const std::optional<KeyPlace> &place) {
  Key own = keyOf(kernel, request, place.value_or(KeyPlace{"-", "-", "-"}));
  std::optional<Ranked> best;
  for (const TunedResult &result : results)
    if (std::optional<Ranked> ranked = rank(result, kernel, own, place.has_value());
        ranked && (!best || isBetter(*ranked, *best)))
      best = ranked;
  return best ? std::optional(best->match) : std::nullopt;
}

const std::vector<TunedResult> &shippedResults() {
  static const std::vector<TunedResult> results = [] {
    std::vector<TunedResult> all;
    for (const auto &[name, text] : shippedTexts)
      for (TunedResult &result : importText(text, name, "shipped"))
        all.push_back(std::move(result));
    return all;
  }();
  return results;
}

TunedRequest tunedRequest(const LibraryKernel &kernel, const CallRequest &request,
                          const std::optional<KeyPlace> &place) {
  TunedRequest tuned{request, std::nullopt, ""};
  if (std::string path = tuningDatabase(); !path.empty())
    if (std::unique_ptr<Database> database = Database::openExisting(path))
      tuned.match = findMatch(database->results(), kernel, request, place);
  if (!tuned.match)
    tuned.match = findMatch(shippedResults(), kernel, request, place);
  if (!tuned.match) {
    tuned.note = fmt::format("not tuned: there is no result for this call of `{}`, so the default runs; `heddle tune "
                             "kernel:{} --shape ...` finds one",
                             kernel.name, kernel.name);
    return tuned;
  }
  tuned.note = describe(*tuned.match);
  CallRequest chosen = configured(request, tuned.match->result.configuration);
  try {
    planCall(kernel, checkCall(kernel, chosen));
    tuned.request = chosen;
  } catch (const Error &error) { // of extents in the same power of two, say
    tuned.note = fmt::format("not tuned: the kernel refuses `{}` for this call, so the default runs: {}",
                             textOf(tuned.match->result.configuration), error.what());
    tuned.match.reset();
  }
  return tuned;
}

Prepared prepareTuned(std::shared_ptr<Device> device, const LibraryKernel &kernel, CallRequest request,
                      const CompileOptions &options, std::string *note) {
  request.chip = &device->chip();
  TunedRequest tuned = tunedRequest(kernel, request, placeOf(*device, false));
  if (note)
    *note = tuned.note;
  return Prepared(std::move(device), kernel, std::move(tuned.request), options);
}

} // namespace heddle::autotune
