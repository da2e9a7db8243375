// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the generator can prove about every element of a value: a range, how far two correct executors may be apart, and
// which special values can occur. The rules are conservative; an operation that would leave what can be bounded is not
// generated.
#pragma once
#include "mlir/IR/BuiltinTypes.h"
#include <optional>

namespace heddle::fuzz {

struct Facts {
  double low = 0, high = 0; ///< signed integers or finite numbers lie in [low, high]
  double error = 0;         ///< absolute difference two executors may have; 0: bitwise equal (up to NaN)
  bool integral = true;     ///< a number without a fraction (or not finite)
  bool special = false;     ///< may be NaN or infinite; low and high then bound the finite elements
  bool looseZero = false;   ///< the sign of a zero is not determined

  double magnitude() const;
  /// Neither exact nor finite: such a value is only moved and stored.
  bool terminal() const { return special && error > 0; }
  bool exact() const { return error == 0; }
  bool finite() const { return !special; }
};

/// Every value of the type.
Facts anything(mlir::Type type);
/// Integers in [low, high], or all of the type when that does not fit (it wrapped).
Facts integers(mlir::Type type, double low, double high);
/// The facts of a result that an executor rounds to floating-point `type`: widens range and error, marks overflow.
/// Nothing when an inexact value could overflow.
std::optional<Facts> rounded(mlir::Type type, Facts facts);
/// What both may be.
Facts join(const Facts &a, const Facts &b);
/// Whether the types' sums of `count` such numbers are exact in any order.
bool sumsExactly(mlir::Type type, const Facts &facts, double count);

/// Precision of a floating-point type, hidden bit included.
int precisionOf(mlir::Type type);
double largestOf(mlir::Type type);

} // namespace heddle::fuzz
