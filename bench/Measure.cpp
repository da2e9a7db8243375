// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Takes the samples of both sides in turn until the time for them is over.
#include "bench/Measure.h"
#include <algorithm>
#include <chrono>

namespace heddle::bench {

Spread spreadOf(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  auto at = [&](double part) { return samples[size_t(part * double(samples.size() - 1) + 0.5)]; };
  return {samples.front(), at(0.1), at(0.5), at(0.9)};
}

double millisecondsOf(const std::function<void()> &action) {
  auto begin = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

Comparison compare(const Budget &budget, const std::function<void()> &heddle, const std::function<void()> &other) {
  heddle();
  other();
  std::vector<double> ours, theirs, speeds;
  double used = 0;
  while (used < budget.seconds * 1000 || int(ours.size()) < budget.leastSamples) {
    // Who goes first alternates, so that neither always finds the other's data in the cache.
    bool first = ours.size() % 2 == 0;
    if (first)
      ours.push_back(millisecondsOf(heddle));
    theirs.push_back(millisecondsOf(other));
    if (!first)
      ours.push_back(millisecondsOf(heddle));
    speeds.push_back(theirs.back() / ours.back());
    used += ours.back() + theirs.back();
  }
  Comparison result{spreadOf(ours), spreadOf(theirs), spreadOf(speeds), 0, int(ours.size())};
  result.speedOfBest = result.otherMilliseconds.least / result.heddleMilliseconds.least;
  return result;
}

} // namespace heddle::bench
