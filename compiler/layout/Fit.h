// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the constructors of named layouts share: products of identities along the axes of a tile, and the fitting of
// such a product to the tile's sizes.
#pragma once
#include "compiler/layout/Encodings.h"

namespace heddle::layout {

void checkRank(const Shape &shape, const Shape &sizes, const char *what);
/// Each of the `rank` axes once.
void checkOrder(const Order &order, size_t rank);

/// The last two axes of a tile of matrices.
struct MatrixAxes {
  explicit MatrixAxes(const Shape &shape);
  Dim row, column;
};

/// The product of identities from `in` to each axis, the fastest axis first.
LinearLayout alongAxes(Dim in, const Shape &sizes, const Order &order);
/// The product with its outputs in the order of `tile`, whatever the order of `warps`.
LinearLayout withWarps(const LinearLayout &tile, const LinearLayout &warps);
/// The same inputs with `axis` at 0: what would move along it becomes copies.
LinearLayout withoutAxis(const LinearLayout &layout, Dim axis);
/// Repeats an axis in registers (offsets in shared memory) until it has `size`; larger ones stay.
LinearLayout repeatToSize(const LinearLayout &layout, Dim axis, int64_t size);
/// Repeats each axis that is smaller than the tile, in the order of the outputs; cuts those that are larger, their
/// largest bases first: lanes and warps become copies, registers are left out. Inputs register, lane, warp; outputs in
/// the order of the axes.
LinearLayout fitTile(const LinearLayout &layout, const Shape &shape);

} // namespace heddle::layout
