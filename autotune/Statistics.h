// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Times of two candidates that were measured in turns, compared: how much faster one is, with a confidence interval.
#pragma once
#include <cstddef>
#include <vector>

namespace heddle::autotune {

double medianOf(std::vector<double> values); ///< of at least one value
/// Third quartile less the first, of at least one value.
double quartileRange(std::vector<double> values);

/// 0.05 is 5 % less time than the other one. The true gain is within `halfWidth` of `gain` with a probability of 99 %.
struct Gain {
  double gain = 0, halfWidth = 0;
  size_t rounds = 0;

  bool isClear() const { return gain > halfWidth; } ///< beyond noise
};

/// `times[i]` and `others[i]` are of one round. The logarithms of their ratios are averaged without the largest and the
/// smallest fifth (a hiccup is in one round), and the interval is Yuen's for such means: Student's with the variance of
/// the values pulled in to the fifths. Below four rounds the interval is infinite.
Gain compareTimes(const std::vector<double> &times, const std::vector<double> &others);

} // namespace heddle::autotune
