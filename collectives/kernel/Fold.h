// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions of elements in rank order: the accumulator's type, widening, one step, rounding once.
#pragma once
#include "collectives/Collective.h"
#include "frontend/tile/TileWriter.h"

namespace heddle {

class Fold {
public:
  Fold(tile::TileWriter &writer, ElementType type, Reduction reduction) : w(writer), type(type), reduction(reduction) {}

  /// `accumulator` is null for the first rank. Both in and out of the accumulator's type, but for `element`.
  mlir::Value step(mlir::Value accumulator, mlir::Value element);
  mlir::Value round(mlir::Value accumulator); ///< to the element type; large sums of f8 saturate

private:
  mlir::Value keepInfinities(mlir::Value accumulator, mlir::Value rounded);
  mlir::Value widen(mlir::Value element);
  mlir::Value combine(mlir::Value x, mlir::Value y);

  tile::TileWriter &w;
  ElementType type;
  Reduction reduction;
};

} // namespace heddle
