// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which tile of a ring a loop's iteration is at: numbers that count around, one step each iteration.
#pragma once
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <optional>

namespace heddle::analysis {

/// In iteration i of the loop, counted from 0, the value is (i + offset) mod modulus.
struct RingNumber {
  mlir::scf::ForOp loop;
  int64_t offset = 0; ///< 0 <= offset < modulus
  int64_t modulus = 1;
};

/// Nothing where the value does not count around as far as its operations tell: `(x + k) rem m`, or `x + 1` and 0 in
/// place of m, of the counter of an `scf.for` of step 1 or of a number that the loop carries and steps like that; or
/// what the loop carries of such a number from the iteration before. Remainders are those of numbers that are not
/// negative, as far as the loop's constant bounds tell.
std::optional<RingNumber> ringNumberOf(mlir::Value value);

} // namespace heddle::analysis
