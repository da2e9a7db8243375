// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The axes of a tile: the layouts of tiles that are made of another one by moving its elements, and how a layout moves
// along an axis. Results have no two registers alike where the source has none.
#pragma once
#include "compiler/layout/Encodings.h"

namespace heddle::layout {

//===-- Tiles made of others -------------------------------------------------------------------------------------===//

/// The layout of a tile without axis `axis` of `parent`'s tile: what a reduction along it leaves. Registers that differ
/// only along that axis are one.
LinearLayout slice(const LinearLayout &parent, int axis);
/// The inverse in the sense of types: a tile with an axis of size 1 inserted.
LinearLayout expandAxis(const LinearLayout &layout, int axis);
/// The axis with size 1, and registers that moved along it left out: what a tile has that is broadcast along it.
LinearLayout flattenAxis(const LinearLayout &layout, int axis);
/// The layout of a transposed tile: its axis d is axis order[d] of `source`'s.
LinearLayout permuteAxes(const LinearLayout &source, const Order &order);
/// And the order that undoes it.
Order inverseOrder(const Order &order);
/// The same elements in row-major order under another shape of as many.
LinearLayout reshape(const LinearLayout &source, const Shape &shape);
/// A new last axis of size 2 in the lowest register bit: two tiles interleaved.
LinearLayout joinTiles(const LinearLayout &source);
/// The first axis twice as long by a register bit: two tiles one after the other.
LinearLayout concatenateTiles(const LinearLayout &source);

//===-- What reductions and scans along an axis leave ------------------------------------------------------------===//

/// Of a tile whose axis has an element for each warp along it, in the order of the warps' numbers: what is left when
/// the threads of a warp combine theirs. Registers count the elements off the axis, in the order of their coordinates.
/// Lanes along the axis have the same elements, but the first `sharing` of their bits take the highest bits of that
/// count, from the highest down: such lanes have a share each.
LinearLayout leaveWarps(const LinearLayout &layout, int axis, int sharing = 0);
/// Of a tile whose axis has an element for each thread along it, lanes first, in the order of their elements.
LinearLayout leaveThreads(const LinearLayout &layout, int axis);
/// The axis with `size` elements, all in each thread, in the lowest registers; the rest as in `layout`.
LinearLayout holdAlong(const LinearLayout &layout, int axis, int64_t size);
/// The bits of `in` that move along the axis; those whose elements come first, first.
std::vector<int> bitsAlong(const LinearLayout &layout, Dim in, int axis);

//===-- How places move ------------------------------------------------------------------------------------------===//

/// Whether no bit of a place moves along two axes.
bool movesOneAxis(const LinearLayout &layout);
/// The bits of the register number that step through contiguous offsets, `most` elements at most, while all else keeps
/// them aligned. `offsets` maps places to offsets, Dim::Offset, and to more where a bit that moves there does not
/// count.
std::vector<int> contiguousRegisterBits(const LinearLayout &offsets, int64_t most);
/// Whether lanes and warps stay at one coordinate of the axis.
bool staysInRegisters(const LinearLayout &layout, int axis);
/// Whether the positions along the axis count registers first, lanes next and warps last, which a scan needs.
bool isScanOrdered(const LinearLayout &layout, int axis);

} // namespace heddle::layout
