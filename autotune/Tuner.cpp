// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loop between search, clock and database: each measurement is committed before the next one begins.
#include "autotune/Tuner.h"
#include "autotune/Lookup.h"
#include "support/Error.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle::autotune {

using namespace kernels;

namespace {

constexpr const char *exactClock = "estimate"; ///< Key: its clock gives the same time again

/// The number of a configuration, if the space still has it.
std::optional<size_t> numberOf(const std::vector<std::string> &names, const std::string &name) {
  auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? std::nullopt : std::optional(size_t(found - names.begin()));
}

std::string settingsOf(const SearchSettings &search, const Space &space, std::optional<size_t> before) {
  return fmt::format("{} space {} before {}", search.text(), space.hash(),
                     before ? space.names()[*before] : std::string("-"));
}

TunedResult emptyResult(const Key &key) {
  return {key, {}, 0, 0, 0, 0, 0, "", ""};
}

TunedResult resultOf(const Key &key, const Space &space, const SearchOutcome &outcome) {
  const CandidateReport &chosen = outcome.candidates[outcome.chosen];
  TunedResult result = emptyResult(key);
  result.configuration = space.candidates[outcome.chosen].configuration;
  result.microseconds = chosen.microseconds;
  result.defaultMicroseconds = outcome.candidates[0].microseconds;
  result.gain = chosen.gain.gain;
  result.halfWidth = std::min(chosen.gain.halfWidth, 1.0);
  result.rounds = int64_t(chosen.gain.rounds);
  result.measuredAt = timeNow();
  result.origin = "measured";
  return result;
}

/// The choice of before that a finished search began with is in its settings.
std::optional<size_t> beforeOf(const std::string &settings, const std::vector<std::string> &names) {
  size_t at = settings.rfind(" before ");
  return at == std::string::npos ? std::nullopt : numberOf(names, settings.substr(at + 8));
}

/// Throws Error{Input} where the database has not what it takes.
void replay(TuneReport &report, const Space &space, Database &database, const TuneOptions &options) {
  std::string settings;
  std::optional<Journal> journal = database.finishedJournal(report.key, settings);
  if (!journal)
    throw inputError(fmt::format("the database has no finished search of key {}", report.key.id()),
                     {"tune without `--replay` first; results that were imported have no measurements"});
  std::optional<size_t> before = beforeOf(settings, report.names);
  SearchSettings search = options.search;
  search.seed = std::stoull(settings.substr(settings.find(' ') + 1));
  if (settings != settingsOf(search, space, before))
    throw inputError(
        fmt::format("the search of key {} had other candidates or settings than this heddle", report.key.id()),
        {"tune again, with `--force`"});
  ReplayClock clock(report.key["clock"] == exactClock);
  report.outcome = autotune::search(report.names, before, clock, *journal, search, {});
}

/// The candidates of a known result, as far as the database has them.
void recall(TuneReport &report, const Space &space, Database &database, const TuneOptions &options) {
  try {
    replay(report, space, database, options);
  } catch (const Error &) {
    report.outcome = {};
  }
}

/// What was chosen for these extents with another driver or version of the compiler, here or in what is shipped.
std::optional<size_t> choiceElsewhere(const TuneReport &report, const LibraryKernel &kernel, const CallRequest &request,
                                      const KeyPlace &place, const Database &database) {
  for (const std::vector<TunedResult> &results : {database.results(), shippedResults()})
    if (std::optional<Match> match = findMatch(results, kernel, request, place);
        match && match->result.key["extents"] == report.key["extents"])
      return numberOf(report.names, textOf(match->result.configuration));
  return std::nullopt;
}

} // namespace

TuneReport tuneCall(const LibraryKernel &kernel, const CallRequest &request, const KeyPlace &place,
                    const ClockMaker &makeClock, Database &database, const TuneOptions &options) {
  Space space = makeSpace(kernel, request);
  Key key = keyOf(kernel, request, place);
  TuneReport report{key, emptyResult(key), space.names(), {}, space.pruned};
  if (options.replays) {
    replay(report, space, database, options);
    report.result = resultOf(report.key, space, report.outcome);
    return report;
  }
  std::optional<TunedResult> known = database.find(report.key);
  if (known && known->measuredAt > options.forceBefore) {
    report.result = *known;
    report.wasKnown = true;
    recall(report, space, database, options);
    return report;
  }
  std::optional<size_t> before = known ? numberOf(report.names, textOf(known->configuration))
                                       : choiceElsewhere(report, kernel, request, place, database);
  Journal journal = database.openJournal(report.key, settingsOf(options.search, space, before));
  report.wasResumed = journal.isResumed;
  std::unique_ptr<Clock> clock = makeClock(space, journal.isCareful());
  report.outcome = autotune::search(report.names, before, *clock, journal, options.search, options.control);
  report.result = resultOf(report.key, space, report.outcome);
  database.finish(journal, report.result);
  return report;
}

} // namespace heddle::autotune
