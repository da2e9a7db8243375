// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tunes one call of a library kernel: its space, its key, a search with a clock, and the result in the database.
#pragma once
#include "autotune/CallKey.h"
#include "autotune/Search.h"
#include "autotune/Space.h"

namespace heddle::autotune {

struct TuneOptions {
  SearchSettings search;
  SearchControl control;
  /// Also where the database has a result for the key, unless it was measured after this time
  /// (TunedResult::measuredAt): it becomes the choice of before. Empty: what the database has is taken.
  std::string forceBefore;
  bool replays = false; ///< decides again from what the database has, and measures nothing
};

struct TuneReport {
  Key key;
  TunedResult result;
  std::vector<std::string> names; ///< of the candidates, by number
  SearchOutcome outcome;          ///< without candidates where the database has the result without its measurements
  std::vector<PrunedConfiguration> pruned;
  bool wasKnown = false, wasResumed = false;
};

/// Makes the clock of a space: only where something is to be measured. `isCareful` as Journal::isCareful.
using ClockMaker = std::function<std::unique_ptr<Clock>(const Space &space, bool isCareful)>;

/// Throws as makeSpace and search; Error{Input} where nothing can be replayed.
TuneReport tuneCall(const kernels::LibraryKernel &kernel, const kernels::CallRequest &request, const KeyPlace &place,
                    const ClockMaker &makeClock, Database &database, const TuneOptions &options);

} // namespace heddle::autotune
