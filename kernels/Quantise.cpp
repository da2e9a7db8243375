// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The options of quantisation, and its formulas in plain numbers.
#include "kernels/Quantise.h"
#include "support/Error.h"
#include <algorithm>
#include <cmath>

namespace heddle::kernels {

std::vector<Option> quantiseOptions() {
  return {{"dtype",
           {"f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ"},
           "",
           "format of the values; f8E4M3FNUZ for gfx942, else f8E4M3FN"},
          {"pow2", {"true", "false"}, "false", "round scales down to powers of two"},
          {"nan",
           {"propagate", "ignore"},
           "propagate",
           "propagate: a NaN makes its scale and all values of that scale NaN; ignore: amax leaves NaN out, and a NaN "
           "becomes the lowest value"}};
}

double largestOf(ElementType type) {
  switch (type) {
  case ElementType::F8E4M3FN:
    return 448;
  case ElementType::F8E4M3FNUZ:
    return 240;
  case ElementType::F8E5M2:
  case ElementType::F8E5M2FNUZ:
    return 57344;
  default:
    throw internalError(std::string(elementTypeName(type)) + " is no 8-bit format");
  }
}

Quantise::Quantise(const Call &call)
    : type(call.type("dtype")), powersOfTwo(call.is("pow2", "true")), propagates(call.is("nan", "propagate")),
      most(largestOf(type)) {}

double amaxWith(double amax, double value, bool propagates) {
  if (std::isnan(value))
    return propagates ? value : amax;
  return std::isnan(amax) ? amax : std::max(amax, std::abs(value));
}

float referenceScale(double amax, const Quantise &how) {
  if (std::isnan(amax))
    return std::numeric_limits<float>::quiet_NaN();
  float scale = float(how.most / std::max(amax, 1e-12));
  if (!how.powersOfTwo || scale == 0)
    return scale;
  int exponent = 0;
  std::frexp(scale, &exponent); // scale is in [2^(exponent - 1), 2^exponent)
  return std::ldexp(1.0f, exponent - 1);
}

double referenceValue(double x, float scale, const Quantise &how) {
  float scaled = float(x) * scale;
  if (std::isnan(scaled))
    return how.propagates ? scaled : -how.most;
  return std::clamp(double(scaled), -how.most, how.most);
}

} // namespace heddle::kernels
