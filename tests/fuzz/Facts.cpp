// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranges and errors of each type, and how they join and round.
#include "tests/fuzz/Facts.h"
#include "mlir/IR/TypeUtilities.h"
#include "tests/reference/Tile.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace heddle::fuzz;

double Facts::magnitude() const {
  return std::max(std::fabs(low), std::fabs(high));
}

int heddle::fuzz::precisionOf(Type type) {
  return reference::formatOf(type).mantissaBits + 1;
}

double heddle::fuzz::largestOf(Type type) {
  const reference::FloatFormat &format = reference::formatOf(type);
  return reference::decode(format, format.largestFinite());
}

Facts heddle::fuzz::anything(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (isa<FloatType>(element))
    return {-largestOf(element), largestOf(element), 0, false, true, false};
  if (!element.isInteger())
    return {};
  if (element.isInteger(1))
    return {-1, 0};
  double half = std::ldexp(1.0, int(element.getIntOrFloatBitWidth()) - 1);
  return {-half, half - 1};
}

Facts heddle::fuzz::integers(Type type, double low, double high) {
  Facts all = anything(type);
  // Bounds beyond 2^53 are not exact in double.
  bool fits = low >= all.low && high <= all.high && std::max(std::fabs(low), std::fabs(high)) < 0x1p53;
  return fits ? Facts{low, high} : all;
}

std::optional<Facts> heddle::fuzz::rounded(Type type, Facts facts) {
  Type element = getElementTypeOrSelf(type);
  int precision = precisionOf(element);
  bool exactIntegers = facts.integral && facts.magnitude() <= std::ldexp(1.0, precision);
  if (!exactIntegers) {
    double slack = facts.magnitude() * std::ldexp(1.0, 1 - precision);
    facts.low -= slack;
    facts.high += slack;
    if (facts.error > 0)
      facts.error += slack + std::ldexp(1.0, 2 - reference::formatOf(element).bias - precision);
  }
  if (!(facts.magnitude() + facts.error <= largestOf(element))) {
    if (facts.error > 0)
      return std::nullopt;
    facts.special = true;
    facts.low = -largestOf(element);
    facts.high = largestOf(element);
  }
  return facts;
}

Facts heddle::fuzz::join(const Facts &a, const Facts &b) {
  return {std::min(a.low, b.low),   std::max(a.high, b.high), std::max(a.error, b.error),
          a.integral && b.integral, a.special || b.special,   a.looseZero || b.looseZero};
}

bool heddle::fuzz::sumsExactly(Type type, const Facts &facts, double count) {
  return facts.exact() && facts.finite() && facts.integral &&
         facts.magnitude() * count <= std::ldexp(1.0, precisionOf(type));
}
