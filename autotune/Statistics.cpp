// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Yuen's trimmed mean and interval of the logarithms of ratios, with quantiles of Student's distribution.
#include "autotune/Statistics.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace heddle::autotune {
namespace {

/// Student's two-sided 99 % quantile, by the expansion of Cornish and Fisher around the normal one (Abramowitz and
/// Stegun 26.7.5). Within 2 % from three degrees of freedom on.
double studentQuantile(double freedom) {
  constexpr double z = 2.5758293;
  const double z2 = z * z, z3 = z2 * z, z5 = z3 * z2, z7 = z5 * z2, z9 = z7 * z2;
  double v = freedom;
  return z + (z3 + z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * z) / (96 * v * v) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * v * v * v) +
         (79 * z9 + 776 * z7 + 1482 * z5 - 1920 * z3 - 945 * z) / (92160 * v * v * v * v);
}

double quantileOf(const std::vector<double> &sorted, double part) {
  double at = part * double(sorted.size() - 1);
  size_t low = size_t(at), high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - double(low)) * (sorted[high] - sorted[low]);
}

} // namespace

double medianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return quantileOf(values, 0.5);
}

double quartileRange(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return quantileOf(values, 0.75) - quantileOf(values, 0.25);
}

Gain compareTimes(const std::vector<double> &times, const std::vector<double> &others) {
  Gain result;
  result.rounds = std::min(times.size(), others.size());
  if (result.rounds == 0)
    return {0, std::numeric_limits<double>::infinity(), 0};
  std::vector<double> ratios;
  for (size_t i = 0; i < result.rounds; ++i)
    ratios.push_back(std::log(times[i] / others[i]));
  std::sort(ratios.begin(), ratios.end());
  const size_t cut = result.rounds / 5, kept = result.rounds - 2 * cut;
  double sum = 0;
  for (size_t i = cut; i < cut + kept; ++i)
    sum += ratios[i];
  const double mean = sum / double(kept);
  result.gain = 1 - std::exp(mean);
  if (result.rounds < 4) {
    result.halfWidth = std::numeric_limits<double>::infinity();
    return result;
  }
  for (size_t i = 0; i < cut; ++i)
    ratios[i] = ratios[cut], ratios[result.rounds - 1 - i] = ratios[cut + kept - 1];
  double pulledMean = 0, squares = 0;
  for (double ratio : ratios)
    pulledMean += ratio / double(result.rounds);
  for (double ratio : ratios)
    squares += (ratio - pulledMean) * (ratio - pulledMean);
  const double error = std::sqrt(squares / (double(kept) * double(kept - 1)));
  result.halfWidth = studentQuantile(double(kept - 1)) * error * std::exp(mean);
  return result;
}

} // namespace heddle::autotune
