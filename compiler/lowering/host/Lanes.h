// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a piece of a tile sits in a vector: which element each lane holds, and what is known of the lanes' values.
// A loop nest walks a tile in pieces of `width` elements; evaluating a value at one piece gives a LaneValue.
#pragma once
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include <functional>
#include <memory>

namespace heddle::host {

/// One integer per lane, known at compile time. Empty means 0 in every lane.
using LanePattern = llvm::SmallVector<int64_t, 16>;

/// The coordinate along one dimension of a tile, for all lanes: base + lanes[l]. The bits of the two never overlap,
/// because sizes are powers of two and a piece starts at a multiple of its extent; so shifts and masks distribute.
struct Index {
  mlir::Value base; ///< i64
  LanePattern lanes;
  bool operator==(const Index &other) const { return base == other.base && lanes == other.lanes; }
};
using TileIndex = llvm::SmallVector<Index, 4>;

/// Lanes that are computed when they are asked for, and once for each block that asks.
struct LazyLanes {
  explicit LazyLanes(std::function<mlir::Value()> compute) : compute(std::move(compute)) {}
  std::function<mlir::Value()> compute;
  mlir::Block *block = nullptr;
  mlir::Value value;
  mlir::Value lanes(mlir::Block *here) {
    if (block != here) {
      value = compute();
      block = here;
    }
    return value;
  }
};

/// The value of one piece. Three forms:
///   uniform  `scalar`, the same in every lane
///   affine   `scalar` + lanes[l], for integers and addresses (which are i64)
///   general  `vector`
/// An affine value that went through a widening conversion assumes that no lane wrapped; that is what an address may
/// assume (as Triton's contiguity analysis does), while any other use takes `exact`.
struct LaneValue {
  mlir::Value scalar;
  LanePattern lanes;
  mlir::Value vector;
  std::shared_ptr<LazyLanes> exact;

  static LaneValue uniform(mlir::Value value) { return {value, {}, {}, {}}; }
  static LaneValue general(mlir::Value value) { return {{}, {}, value, {}}; }
  bool isUniform() const { return scalar && lanes.empty(); }
  bool isAffine() const { return scalar && !lanes.empty(); }
};

/// Which lanes cover which dimensions in one step of a loop nest.
struct LaneMap {
  int width = 1;
  int primary = 0;                           ///< the dimension that consecutive lanes walk first
  llvm::SmallVector<LanePattern, 4> pattern; ///< per dimension
  llvm::SmallVector<int64_t, 4> extent;      ///< elements per dimension in one piece
};

/// Distributes up to `maxWidth` lanes over `shape`: first along `primary`, then along the other dimensions from the
/// last to the first, never along `excluded` (-1: none).
LaneMap chooseLanes(llvm::ArrayRef<int64_t> shape, int primary, int maxWidth, int excluded = -1);

/// lanes[l] == l * step for every lane of a vector of `width`.
bool isStepPattern(const LanePattern &lanes, int width, int64_t step);

} // namespace heddle::host
