// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Measuring: many short samples, the two sides of a ratio in turn, so that a disturbance of the machine meets both.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace heddle::bench {

/// Quantiles of a set of samples.
struct Spread {
  double least = 0, p10 = 0, p50 = 0, p90 = 0;
};
Spread spreadOf(std::vector<double> samples);

struct Budget {
  double seconds = 3; ///< of samples of one row
  int leastSamples = 15;
};

/// Two sides doing the same work. `speed` is other time / Heddle time, pair by pair: above 1, Heddle is faster.
struct Comparison {
  Spread heddleMilliseconds, otherMilliseconds, speed;
  double speedOfBest = 0; ///< from the shortest sample of each side: what a busy machine disturbs least
  int samples = 0;
};

/// Runs both sides once without looking, then in turn until the budget is used up.
Comparison compare(const Budget &budget, const std::function<void()> &heddle, const std::function<void()> &other);

/// Milliseconds that `action` takes.
double millisecondsOf(const std::function<void()> &action);

} // namespace heddle::bench
