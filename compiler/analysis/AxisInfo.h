// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is known about the integers and pointers of a tile along each axis: runs of contiguous elements, what divides
// them, runs of equals. It decides how many elements one memory access takes. All lengths are powers of two and 1 is
// always true.
//
// The claims assume what a kernel's index arithmetic does anyway: that it does not wrap around (in 32 bits and more;
// narrower arithmetic may), and that the dividend of a signed division or remainder is not negative unless there is
// evidence that it could be (it comes from a subtraction or a negative constant). Source: DESIGN's fact sheet on
// layouts.
#pragma once
#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>

namespace heddle::analysis {

/// Divides everything that is zero, and stands for the largest length.
inline constexpr int64_t largestPower = int64_t(1) << 62;

/// Along one axis a tile is cut into groups that start at multiples of the group's length.
struct Axis {
  int64_t contiguity = 1;   ///< in each group of so many, every element is its predecessor plus one
  int64_t divisibility = 1; ///< divides the first element of each such group; in bytes for pointers
  int64_t constancy = 1;    ///< in each group of so many, all elements are equal
  bool operator==(const Axis &) const = default;
};

struct AxisInfo {
  llvm::SmallVector<Axis, 4> axes; ///< one for each axis; a scalar has one axis of size 1
  std::optional<int64_t> constant; ///< what every element is, sign-extended
  int64_t step = 1;                ///< between contiguous elements: bytes of the pointee for pointers
  bool maybeNegative = false;      ///< evidence that elements may be negative; none is not a proof

  int64_t rank() const { return axes.size(); }
  /// A power of two that divides all elements whose index along `axis` is a multiple of `period`, a power of two.
  int64_t divisorAt(int64_t axis, int64_t period) const;
  /// A power of two that divides all elements.
  int64_t divisorOfAll() const;
  bool operator==(const AxisInfo &) const = default;
};

/// The analysis of a module or a function, made once; it holds no reference to the IR except values as keys.
class AxisAnalysis {
public:
  explicit AxisAnalysis(mlir::Operation *root);
  /// What holds whenever `value` is computed. Nothing (1 everywhere) for values outside of what was analysed.
  const AxisInfo &of(mlir::Value value) const;

private:
  llvm::DenseMap<mlir::Value, AxisInfo> infos;
};

} // namespace heddle::analysis
