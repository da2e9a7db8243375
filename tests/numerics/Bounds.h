// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How exact the operations are that a target may approximate: the one table of it, by the target of the test device.
// Errors are in units in the last place of the exact result in the type that the operation computes in (f32 for
// narrower ones).
#pragma once
#include "support/TestDevice.h"
#include <cmath>
#include <string>

namespace heddle::numerics {

struct Bounds {
  double divide = 0, squareRoot = 0; ///< f32; 0: rounded correctly. tt.precise_divf and tt.precise_sqrt always are
  double exp2 = 1;                   ///< f32
  bool exp2Flushes = false;          ///< f32: 0 where the exact result is below the smallest normal number
  double exp = 1, expPerUnit = 0;    ///< f32: exp + expPerUnit * |x|
  double erf = 1.5, tanh = 1.5;      ///< f32
  double reciprocalRoot = 1.5;       ///< f32: a root and a quotient, each rounded
};

/// The host: docs/host.md. AMD, docs/gfx9.md: exact division; v_sqrt_f32 and v_exp_f32 (1), the latter for results that
/// are normal. sm_90: the PTX instructions div.full.f32 (2), sqrt.approx.f32 (relative 2^-23), ex2.approx.ftz.f32 (2),
/// rsqrt.approx.f32 (relative 2^-22.9); AMD's v_rsq_f32 (1).
/// exp(x) is exp2(x * log2 e) on both: the product is rounded (a unit of the result for each of |x|), and so is log2 e
/// (less than a quarter). erf is made of exp2 where it is above 0.8: half an error of exp2 and 1.2.
/// tanh is 1 - 2 / (e^2x + 1) from 0.5625 on: three quarters of an error of e^2x, as much of the quotient's, and two
/// roundings.
inline Bounds boundsOfDevice() {
  std::string device = testDevice();
  if (device.substr(0, 4) == "host")
    return {};
  if (device.substr(0, 4) == "sim:" || device.substr(0, 3) == "hip")
    return {.squareRoot = 1,
            .exp2 = 1,
            .exp2Flushes = true,
            .exp = 1,
            .expPerUnit = 1.25,
            .erf = 1.7,
            .tanh = 2,
            .reciprocalRoot = 1};
  return {.divide = 2,
          .squareRoot = 2,
          .exp2 = 2,
          .exp2Flushes = true,
          .exp = 3,
          .expPerUnit = 1.5,
          .erf = 2.2,
          .tanh = 4,
          .reciprocalRoot = 2.15};
}

/// Whether `actual` lies within `ulps` units of `exact`; both may be special.
template <typename T>
bool isWithin(T actual, T exact, double ulps) {
  if (std::isnan(actual) || std::isnan(exact))
    return std::isnan(actual) && std::isnan(exact);
  if (actual == exact)
    return std::signbit(actual) == std::signbit(exact);
  T low = exact, high = exact;
  for (int step = 0; step < int(ulps); ++step)
    low = std::nextafter(low, -T(INFINITY)), high = std::nextafter(high, T(INFINITY));
  return actual >= low && actual <= high;
}

} // namespace heddle::numerics
