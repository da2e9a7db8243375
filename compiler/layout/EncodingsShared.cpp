// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layouts of shared memory, offset -> coordinates: rows whose columns are xor'ed by a phase of the row.
#include "compiler/layout/Encodings.h"
#include "compiler/layout/Fit.h"
#include "support/Error.h"
#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <utility>

namespace heddle::layout {

namespace {
/// Columns c of row r lie at c xor (vec * (r / perPhase mod maxPhase)); if it rotates, xor'ed once more by the number
/// of the block of rows after which the phases begin again.
struct Phases {
  int64_t vec, perPhase, maxPhase;
  bool rotates = false;

  int64_t shift(int64_t row) const {
    int64_t phase = row / perPhase % maxPhase, block = row / perPhase / maxPhase % maxPhase;
    return vec * (rotates ? phase ^ block : phase);
  }
};
} // namespace

static LinearLayout swizzledMatrix(int64_t rows, int64_t columns, Phases phases, Dim row, Dim column) {
  for (int64_t size : {rows, columns, phases.vec, phases.perPhase, phases.maxPhase})
    if (size <= 0 || !std::has_single_bit(uint64_t(size)))
      throw internalError(fmt::format("layout: swizzle of {}x{} with vec {}, perPhase {}, maxPhase {}", rows, columns,
                                      phases.vec, phases.perPhase, phases.maxPhase));
  LinearLayout::Input offset{Dim::Offset, {}};
  for (int64_t bit = 1; bit < columns; bit *= 2)
    offset.bases.push_back({bit, 0});
  for (int64_t bit = 1; bit < rows; bit *= 2)
    offset.bases.push_back({phases.shift(bit) % columns, bit});
  return LinearLayout({offset}, {{column, columns}, {row, rows}});
}

static std::vector<Dim> axesOf(size_t rank) {
  std::vector<Dim> axes;
  for (size_t axis = 0; axis < rank; ++axis)
    axes.push_back(tileDim(int(axis)));
  return axes;
}

static LinearLayout phasedShared(const Shape &shape, Phases phases, const Order &order) {
  checkOrder(order, shape.size());
  if (shape.size() < 2)
    return alongAxes(Dim::Offset, shape, order);
  LinearLayout layout = swizzledMatrix(shape[order[1]], shape[order[0]], phases, tileDim(order[1]), tileDim(order[0]));
  for (size_t i = 2; i < order.size(); ++i)
    layout *= LinearLayout::identity1D(shape[order[i]], Dim::Offset, tileDim(order[i]));
  return layout.transposeOutputs(axesOf(shape.size()));
}

LinearLayout swizzledShared(const Shape &shape, int64_t vec, int64_t perPhase, int64_t maxPhase, const Order &order) {
  return phasedShared(shape, {vec, perPhase, maxPhase}, order);
}

LinearLayout rotatingShared(const Shape &shape, int64_t vec, int64_t perPhase, int64_t maxPhase, const Order &order) {
  return phasedShared(shape, {vec, perPhase, maxPhase, /*rotates=*/true}, order);
}

LinearLayout nvmmaShared(const Shape &shape, int64_t swizzleBytes, int elementBits, bool transposed) {
  if (swizzleBytes != 0 && swizzleBytes != 32 && swizzleBytes != 64 && swizzleBytes != 128)
    throw internalError(fmt::format("layout: a swizzle over {} bytes", swizzleBytes));
  Order order = rowMajor(shape.size()); // the axes, contiguous first; all but the first are rows
  if (transposed && shape.size() > 1)
    std::swap(order[0], order[1]);
  if (order.empty())
    throw internalError("layout: shared memory for a scalar");
  int64_t columns = shape[order[0]], rows = 1;
  for (size_t i = 1; i < order.size(); ++i)
    rows *= shape[order[i]];

  int64_t tileColumns = 8 * std::max<int64_t>(16, swizzleBytes) / elementBits;
  if (shape.size() == 1)
    return alongAxes(Dim::Offset, shape, order);
  if (columns < tileColumns)
    throw internalError(fmt::format("layout: rows of {} elements of {} bits are no rows swizzled over {} bytes",
                                    columns, elementBits, swizzleBytes));
  Phases phases =
      swizzleBytes == 0 ? Phases{1, 1, 1} : Phases{128 / elementBits, 128 / swizzleBytes, swizzleBytes / 16};
  Dim column = Dim::Dim0, row = Dim::Dim1; // of the matrix; the tile's axes come by the reshape
  LinearLayout tile = swizzledMatrix(std::min<int64_t>(8, rows), tileColumns, phases, row, column);
  LinearLayout matrix = repeatToSize(repeatToSize(tile, row, rows), column, columns);
  std::vector<LinearLayout::Output> outputs;
  for (int axis : order)
    outputs.push_back({tileDim(axis), shape[axis]});
  return matrix.reshapeOutputs(outputs).transposeOutputs(axesOf(shape.size()));
}

} // namespace heddle::layout
