// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The state of a search as measurements arrive, from which the next step follows; it knows neither clock nor database.
#include "autotune/Search.h"
#include "support/Error.h"
#include "support/Hash.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <random>
#include <set>

namespace heddle::autotune {
namespace {

constexpr const char *screening = "screening", *shortlisting = "shortlist", *confirming = "confirmation";
constexpr size_t blockSize = 16;        ///< candidates that are screened between two measurements of the default
constexpr double screeningShare = 0.6;  ///< of the budget
constexpr double shortlistShare = 0.75; ///< of the budget, up to the end of that stage
constexpr size_t leastScreened = 8;     ///< whatever the budget says

/// The standard library leaves the results of its distributions and std::shuffle to the implementation.
void shuffle(std::vector<size_t> &values, const std::string &seed) {
  std::mt19937_64 random(hashBytes(seed));
  for (size_t left = values.size(); left > 1; --left)
    std::swap(values[left - 1], values[size_t(random() % left)]);
}

class Searcher {
public:
  Searcher(const std::vector<std::string> &names, std::optional<size_t> before, Clock &clock, Journal &journal,
           const SearchSettings &settings, const SearchControl &control)
      : names(names), before(before), clock(clock), journal(journal), settings(settings), control(control),
        start(now()) {
    outcome.candidates.resize(names.size());
  }

  SearchOutcome search() {
    screen();
    if (!clock.isExact()) {
      shorten();
      confirm();
    }
    decide();
    journal.setAttempt("");
    return std::move(outcome);
  }

private:
  using Times = std::map<size_t, std::vector<double>>; ///< by candidate, of rounds 0, 1, ...

  double now() const {
    if (control.seconds)
      return control.seconds();
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  bool isSpent(double share) const {
    return control.budgetSeconds > 0 && now() - start > share * control.budgetSeconds;
  }
  bool isFailed(size_t candidate) const { return journal.failures().count(names[candidate]); }

  void report(const char *stage, size_t done, size_t all) {
    if (control.progress)
      control.progress({stage, done, all, journal.failures().size(), bestTime, defaultTime});
  }

  void fail(size_t candidate, const Failure &failure) {
    journal.addFailure(names[candidate], failure);
    if (candidate == 0)
      throw environmentError(
          fmt::format("the default configuration fails, so nothing can be compared with it: {}", failure.reason),
          {"`heddle run kernel:NAME --shape ... --verify` with the same device shows its error"});
  }

  /// The time of a candidate in a round, from the journal or measured now; none where it fails.
  std::optional<double> time(const char *stage, int round, size_t candidate) {
    if (isFailed(candidate))
      return std::nullopt;
    if (std::optional<double> known = journal.find(stage, round, names[candidate]))
      return known;
    if (control.isCancelled && control.isCancelled())
      throw SearchInterrupted("interrupted");
    try {
      if (!prepared.count(candidate)) {
        journal.setAttempt(names[candidate]);
        if (candidate != 0)
          prepareDefault();
        clock.prepare(candidate);
        prepared.insert(candidate);
      }
      double microseconds = clock.measure(candidate);
      if (!(microseconds > 0) || !std::isfinite(microseconds))
        throw CandidateFailure("launch", fmt::format("its time is {} us", microseconds));
      journal.add(stage, round, names[candidate], microseconds);
      ++outcome.measurements;
      return microseconds;
    } catch (const CandidateFailure &failure) {
      fail(candidate, {failure.kind, failure.what()});
      if (!failure.isLost)
        return std::nullopt;
      journal.setAttempt("");
      SearchInterrupted interrupted(
          fmt::format("the device is lost since configuration `{}` failed: {}", names[candidate], failure.what()));
      interrupted.isLost = true;
      throw interrupted;
    }
  }

  /// A resumed search begins with another candidate, and compares it with the default.
  void prepareDefault() {
    if (!prepared.insert(0).second)
      return;
    try {
      clock.prepare(0);
    } catch (const CandidateFailure &failure) {
      fail(0, {failure.kind, failure.what()});
    }
  }

  void release(size_t candidate) {
    if (candidate != 0 && prepared.erase(candidate))
      clock.release(candidate);
  }

  /// Every candidate once, in random order: a budget that ends early leaves a fair sample.
  void screen() {
    std::vector<size_t> order = screeningOrder();
    size_t count = order.size();
    if (auto mark = journal.mark("screened"))
      count = std::min<size_t>(count, std::stoull(*mark));
    announce(order, count);
    for (size_t i = 0; i < count; ++i) {
      if (i >= leastScreened && !journal.mark("screened") && isSpent(screeningShare)) {
        journal.setMark("screened", std::to_string(i));
        break;
      }
      if (i % blockSize == 0 && (i == 0 || !clock.isExact()))
        references.push_back(defaultTime = time(screening, int(i / blockSize), 0).value());
      screenOne(order[i], i / blockSize);
      report(screening, i + 1, count);
    }
    if (order.empty())
      defaultTime = time(screening, 0, 0).value();
    if (!journal.mark("screened"))
      journal.setMark("screened", std::to_string(count));
    outcome.isCutShort = std::stoull(*journal.mark("screened")) < order.size();
    outcome.candidates[0] = {Fate::Screened, std::nullopt, defaultTime, 0, {}};
    rankScreened();
  }

  std::vector<size_t> screeningOrder() const {
    std::vector<size_t> order(names.size() - 1);
    std::iota(order.begin(), order.end(), 1);
    shuffle(order, fmt::format("{} {}", settings.seed, screening));
    if (before && *before != 0) {
      std::erase(order, *before);
      order.insert(order.begin(), *before);
    }
    return order;
  }

  void announce(const std::vector<size_t> &order, size_t count) {
    std::vector<size_t> coming = {0};
    for (size_t i = 0; i < count; ++i)
      if (!journal.find(screening, 0, names[order[i]]) && !isFailed(order[i]))
        coming.push_back(order[i]);
    if (coming.size() > 1)
      clock.expect(coming);
  }

  /// In round 0; others are the repetitions of the default.
  void screenOne(size_t candidate, size_t block) {
    std::optional<double> measured = time(screening, 0, candidate);
    CandidateReport &report = outcome.candidates[candidate];
    if (!measured) {
      report.fate = Fate::Failed;
      report.failure = journal.failures().at(names[candidate]);
      return;
    }
    report = {Fate::Screened, std::nullopt, *measured, 0, {}};
    screened.push_back({double(block), candidate});
    if (bestTime == 0 || *measured < bestTime)
      bestTime = *measured;
    if (!clock.isExact())
      release(candidate);
  }

  /// Each candidate is compared with the default at about the same time, since clocks of devices drift: with the median
  /// of the preceding, its own and the following block, since one measurement of the default may be a bad one.
  void rankScreened() {
    for (auto &[ratio, candidate] : screened) {
      size_t block = clock.isExact() ? 0 : size_t(ratio);
      std::vector<double> around;
      for (size_t i = block ? block - 1 : 0; i < std::min(block + 2, references.size()); ++i)
        around.push_back(references[i]);
      double reference = around.size() < 3 ? *std::min_element(around.begin(), around.end()) : medianOf(around);
      CandidateReport &report = outcome.candidates[candidate];
      ratio = report.microseconds / reference;
      report.gain = {1 - ratio, 0, 1};
    }
    std::sort(screened.begin(), screened.end());
  }

  /// One round: all in random order. A candidate that fails leaves `active`.
  void measureRound(const char *stage, int round, std::vector<size_t> &active, Times &times) {
    std::vector<size_t> order = active;
    shuffle(order, fmt::format("{} {} {}", settings.seed, stage, round));
    for (size_t candidate : order) {
      std::optional<double> measured = time(stage, round, candidate);
      if (measured) {
        times[candidate].push_back(*measured);
        continue;
      }
      std::erase(active, candidate);
      outcome.candidates[candidate].fate = Fate::Failed;
      outcome.candidates[candidate].failure = journal.failures().at(names[candidate]);
    }
  }

  void describe(const Times &times, Fate fate) {
    for (const auto &[candidate, values] : times)
      if (!isFailed(candidate))
        outcome.candidates[candidate] = {fate, std::nullopt, medianOf(values), quartileRange(values),
                                         candidate ? compareTimes(values, times.at(0)) : Gain{0, 0, values.size()}};
  }

  /// The default, the choice of before, and `most` others: one half is the fastest, the other the first in the order of
  /// the space among those that are hardly slower. Where many are about as fast, which of them come first by their
  /// times is noise, and two searches would choose different ones.
  std::vector<size_t> choose(const std::vector<std::pair<double, size_t>> &ranked, size_t most, double near) const {
    std::vector<size_t> chosen = {0};
    auto add = [&](size_t candidate, size_t limit) {
      if (chosen.size() < limit + 1 && std::find(chosen.begin(), chosen.end(), candidate) == chosen.end())
        chosen.push_back(candidate);
    };
    if (before && *before != 0 && !isFailed(*before) && outcome.candidates[*before].fate != Fate::NotReached)
      add(*before, most);
    std::vector<size_t> close;
    for (const auto &[ratio, candidate] : ranked) {
      add(candidate, most / 2);
      if (ratio <= ranked.front().first + near)
        close.push_back(candidate);
    }
    std::sort(close.begin(), close.end());
    for (size_t candidate : close)
      add(candidate, most);
    for (const auto &[ratio, candidate] : ranked)
      add(candidate, most);
    return chosen;
  }

  void shorten() {
    std::vector<size_t> active = choose(screened, settings.shortlist, 3 * settings.equal);
    if (active.size() == 1)
      return;
    Times times;
    size_t rounds = size_t(settings.shortRounds);
    if (auto mark = journal.mark("short rounds"))
      rounds = std::stoull(*mark);
    clock.expect(active);
    for (size_t round = 0; round < rounds; ++round) {
      if (round > 0 && !journal.mark("short rounds") && isSpent(shortlistShare))
        journal.setMark("short rounds", std::to_string(rounds = round));
      if (round < rounds)
        measureRound(shortlisting, int(round), active, times);
      report(shortlisting, round + 1, rounds);
    }
    if (!journal.mark("short rounds"))
      journal.setMark("short rounds", std::to_string(rounds));
    describe(times, Fate::Shortlisted);
    ranked.clear();
    for (size_t candidate : active)
      if (candidate != 0)
        ranked.push_back({-compareTimes(times[candidate], times[0]).gain, candidate});
    std::sort(ranked.begin(), ranked.end());
  }

  void confirm() {
    std::vector<size_t> active = choose(ranked, settings.finalists, 2 * settings.equal);
    if (active.size() == 1)
      return;
    for (size_t candidate = 0; candidate < names.size(); ++candidate)
      if (std::find(active.begin(), active.end(), candidate) == active.end())
        release(candidate);
    size_t rounds = size_t(settings.mostRounds);
    if (auto mark = journal.mark("rounds"))
      rounds = std::stoull(*mark);
    size_t round = 0;
    while (round < rounds && active.size() > 1 && !isDecided(active, round)) {
      if (int(round) >= settings.leastRounds && !journal.mark("rounds") && isSpent(1)) {
        journal.setMark("rounds", std::to_string(round));
        break;
      }
      measureRound(confirming, int(round), active, finals);
      ++round;
      drop(active, round);
      report(confirming, round, rounds);
    }
    remaining = active;
    describe(finals, Fate::Finalist);
  }

  size_t fastestOf(const std::vector<size_t> &active) const {
    size_t fastest = 0;
    for (size_t candidate : active)
      if (candidate != 0 && (fastest == 0 || compareTimes(finals.at(candidate), finals.at(fastest)).gain > 0))
        fastest = candidate;
    return fastest;
  }

  /// Candidates that are slower than the fastest one beyond noise, and by more than what counts as equal.
  void drop(std::vector<size_t> &active, size_t round) {
    if (int(round) < settings.leastRounds)
      return;
    size_t fastest = fastestOf(active);
    std::erase_if(active, [&](size_t candidate) {
      if (candidate == 0 || candidate == fastest || candidate == before)
        return false;
      Gain gain = compareTimes(finals.at(fastest), finals.at(candidate));
      return gain.gain - gain.halfWidth > settings.equal;
    });
  }

  /// Whether more rounds could change nothing.
  bool isDecided(const std::vector<size_t> &active, size_t round) const {
    if (int(round) < settings.leastRounds)
      return false;
    auto isSharp = [&](const Gain &gain, double threshold) { return std::abs(gain.gain - threshold) > gain.halfWidth; };
    size_t fastest = fastestOf(active);
    if (!isSharp(compareTimes(finals.at(fastest), finals.at(0)), settings.margin))
      return false;
    if (before && *before != 0 && finals.count(*before) && *before != fastest && !isFailed(*before) &&
        !isSharp(compareTimes(finals.at(fastest), finals.at(*before)), settings.margin))
      return false;
    return std::all_of(active.begin(), active.end(), [&](size_t candidate) {
      return candidate == 0 || candidate == fastest ||
             isSharp(compareTimes(finals.at(fastest), finals.at(candidate)), settings.equal);
    });
  }

  /// The gain of one over the other, in the finals or, of an exact clock, of the one time.
  Gain gainOver(size_t candidate, size_t other) const {
    if (clock.isExact()) {
      double time = outcome.candidates[candidate].microseconds, base = outcome.candidates[other].microseconds;
      return {1 - time / base, 0, 1};
    }
    return compareTimes(finals.at(candidate), finals.at(other));
  }

  /// Of those that are as fast as the fastest, the first in the order of the space.
  size_t challenger() const {
    std::vector<size_t> others;
    if (clock.isExact())
      for (const auto &[ratio, candidate] : screened)
        others.push_back(candidate);
    else
      for (size_t candidate : remaining)
        if (candidate != 0)
          others.push_back(candidate);
    if (others.empty())
      return 0;
    size_t fastest = others.front();
    for (size_t candidate : others)
      if (gainOver(candidate, fastest).gain > 0)
        fastest = candidate;
    size_t first = fastest;
    for (size_t candidate : others)
      if (gainOver(fastest, candidate).gain <= (clock.isExact() ? 1e-9 : settings.equal))
        first = std::min(first, candidate);
    return first;
  }

  void decide() {
    auto beats = [&](size_t candidate, size_t other) {
      Gain gain = gainOver(candidate, other);
      return gain.gain > settings.margin && gain.isClear();
    };
    size_t standing = 0, candidate = challenger();
    outcome.reason = "no candidate is faster than the default by more than the margin and the noise";
    bool hasBefore = before && *before != 0 && !isFailed(*before) &&
                     (clock.isExact() ? outcome.candidates[*before].microseconds > 0 : finals.count(*before) > 0);
    if (hasBefore) {
      Gain loss = gainOver(0, *before);
      if (!(loss.gain > 0 && loss.isClear())) {
        standing = *before;
        outcome.reason = "the choice of before: no candidate is faster by more than the margin and the noise";
      }
    }
    if (candidate != 0 && candidate != standing && beats(candidate, standing) &&
        (standing == 0 || gainOver(candidate, 0).isClear())) {
      standing = candidate;
      outcome.reason = hasBefore ? "it is faster than the choice of before by more than the margin and the noise"
                                 : "it is faster than the default by more than the margin and the noise";
    }
    outcome.chosen = standing;
    outcome.candidates[standing].fate = Fate::Chosen;
  }

  const std::vector<std::string> &names;
  const std::optional<size_t> before;
  Clock &clock;
  Journal &journal;
  const SearchSettings &settings;
  const SearchControl &control;
  const double start;
  SearchOutcome outcome;
  std::set<size_t> prepared;
  double defaultTime = 0, bestTime = 0;
  std::vector<double> references; ///< times of the default, one for each block of the screening
  std::vector<std::pair<double, size_t>> screened, ranked; ///< time by that of the default, and candidate; best first
  Times finals;
  std::vector<size_t> remaining; ///< the finalists that were not dropped
};

} // namespace

std::string SearchSettings::text() const {
  return fmt::format("seed {} margin {} shortlist {} finalists {} rounds {} {} {} equal {}", seed, margin, shortlist,
                     finalists, shortRounds, leastRounds, mostRounds, equal);
}

const char *nameOf(Fate fate) {
  constexpr const char *names[] = {"not reached", "failed", "screened", "shortlisted", "finalist", "chosen"};
  return names[size_t(fate)];
}

SearchOutcome search(const std::vector<std::string> &names, std::optional<size_t> before, Clock &clock,
                     Journal &journal, const SearchSettings &settings, const SearchControl &control) {
  return Searcher(names, before, clock, journal, settings, control).search();
}

void ReplayClock::prepare(size_t) {
  throw inputError("the database has not every measurement of this search, so it cannot be decided again",
                   {"tune again, without `--replay`"});
}

double ReplayClock::measure(size_t) {
  prepare(0);
  return 0;
}

} // namespace heddle::autotune
