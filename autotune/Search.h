// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which candidate is fastest, without being misled by noise. Three stages: every candidate once; the best again in
// rounds; the best of these in many rounds, in each of which all are measured in random order, beside the default. The
// next step is a function of the seed and of the measurements so far, which a Journal keeps: a search that was killed
// continues as if it had not been, and a finished one gives the same choice again.
#pragma once
#include "autotune/Clock.h"
#include "autotune/Database.h"
#include "autotune/Statistics.h"
#include <functional>

namespace heddle::autotune {

struct SearchSettings {
  uint64_t seed = 1;
  /// What holds the place, which is the default or the choice of before, loses it only to a candidate that is faster by
  /// more than this part and by more than the noise.
  double margin = 0.03;
  size_t shortlist = 16, finalists = 6; ///< candidates of the second and the third stage
  int shortRounds = 6, leastRounds = 12, mostRounds = 100;
  /// Finalists within this part of the fastest one are equals; the first in the order of the space is chosen.
  double equal = 0.015;

  std::string text() const; ///< for Database::openJournal
};

struct SearchProgress {
  const char *stage; ///< `screening`, `shortlist`, `confirmation`
  size_t done = 0, all = 0;
  size_t failures = 0;
  double bestMicroseconds = 0, defaultMicroseconds = 0; ///< so far
};

/// What a search asks of the process around it.
struct SearchControl {
  double budgetSeconds = 0;                  ///< 0: until it is done. At its end fewer candidates were screened
  std::function<double()> seconds = nullptr; ///< a clock for the budget; null: the steady one
  std::function<void(const SearchProgress &)> progress = nullptr;
  std::function<bool()> isCancelled = nullptr; ///< asked between measurements
};

enum class Fate { NotReached, Failed, Screened, Shortlisted, Finalist, Chosen };
const char *nameOf(Fate fate); ///< `not reached`, `screened`

struct CandidateReport {
  Fate fate = Fate::NotReached;
  std::optional<Failure> failure;
  double microseconds = 0;  ///< the median of its last stage; 0: none
  double quartileRange = 0; ///< of the same
  Gain gain;                ///< over the default, in its last stage; of screening without an interval
};

struct SearchOutcome {
  size_t chosen = 0;
  std::vector<CandidateReport> candidates; ///< by number
  std::string reason;                      ///< why this one: for people
  size_t measurements = 0;                 ///< made now, not found in the journal
  bool isCutShort = false;                 ///< the budget ended before every candidate was screened
};

/// The search was cancelled or lost its device. It can be resumed.
struct SearchInterrupted : std::runtime_error {
  using std::runtime_error::runtime_error;
  bool isLost = false; ///< the device, because of a candidate that has been noted as failed
};

/// `names` are the texts of the candidates' configurations. `before` is the number of the one that was chosen earlier.
/// Throws Error{Environment} where the default itself fails, SearchInterrupted, and what the clock throws.
SearchOutcome search(const std::vector<std::string> &names, std::optional<size_t> before, Clock &clock,
                     Journal &journal, const SearchSettings &settings, const SearchControl &control = {});

/// A clock for deciding again from a finished journal: it measures nothing.
class ReplayClock : public Clock {
public:
  explicit ReplayClock(bool isExact) : exact(isExact) {}
  bool isExact() const override { return exact; }
  void prepare(size_t) override; ///< throws Error{Input}: the journal is not complete
  double measure(size_t) override;

private:
  bool exact;
};

} // namespace heddle::autotune
