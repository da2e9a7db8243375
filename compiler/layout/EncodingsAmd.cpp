// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The layouts of CDNA's MFMA for waves of 64 lanes. Source: the instruction set manuals of CDNA 3 and CDNA 4, matrix
// instructions.
#include "compiler/layout/Axes.h"
#include "compiler/layout/Encodings.h"
#include "compiler/layout/Fit.h"
#include "support/Error.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace heddle::layout {

static constexpr int64_t waveLanes = 64;

static int64_t tilesAlong(const Shape &tilesPerWarp, bool columns) {
  if (tilesPerWarp.size() < 2)
    throw internalError(fmt::format("layout: tilesPerWarp of rank {}", tilesPerWarp.size()));
  return tilesPerWarp[tilesPerWarp.size() - (columns ? 1 : 2)];
}

LinearLayout mfmaAccumulator(const Shape &shape, const Shape &warps, int64_t instructionM, int64_t instructionN,
                             bool transposed, int elementBits, const Shape &tilesPerWarp) {
  MatrixAxes axes(shape);
  checkRank(shape, warps, "warps");
  // What the registers of a lane go along: rows; transposed, columns.
  Dim along = transposed ? axes.column : axes.row, across = transposed ? axes.row : axes.column;
  int64_t acrossSize = transposed ? instructionM : instructionN;
  int64_t run = elementBits == 64 ? 1 : 4;
  if ((transposed ? instructionN : instructionM) == waveLanes && acrossSize == 4)
    throw internalError("layout: mfma of 64x4 must be transposed, of 4x64 must not");
  LinearLayout layout = LinearLayout::identity1D(run, Dim::Register, along) *
                        LinearLayout::identity1D(acrossSize, Dim::Lane, across) *
                        LinearLayout::identity1D(waveLanes / acrossSize, Dim::Lane, along) *
                        LinearLayout::identity1D(instructionM * instructionN / (waveLanes * run), Dim::Register, along);

  size_t rank = shape.size();
  layout *= LinearLayout::identity1D(tilesAlong(tilesPerWarp, true), Dim::Register, axes.column) *
            LinearLayout::identity1D(warps[rank - 1], Dim::Warp, axes.column);
  layout = repeatToSize(layout, axes.column, shape[rank - 1]);
  layout *= LinearLayout::identity1D(tilesAlong(tilesPerWarp, false), Dim::Register, axes.row) *
            LinearLayout::identity1D(warps[rank - 2], Dim::Warp, axes.row);
  for (size_t axis = rank - 2; axis-- > 0;)
    layout *= LinearLayout::identity1D(warps[axis], Dim::Warp, tileDim(int(axis)));
  return fitTile(layout, shape);
}

LinearLayout mfmaOperand(const Shape &shape, const Shape &warps, int operand, int64_t kWidth, int64_t instructionM,
                         int64_t instructionN, const Shape &tilesPerWarp) {
  MatrixAxes axes(shape);
  bool isA = operand == 0;
  Dim k = isA ? axes.column : axes.row, outer = isA ? axes.row : axes.column;
  int64_t outerSize = isA ? instructionM : instructionN;
  LinearLayout tile = LinearLayout::identity1D(kWidth, Dim::Register, k) *
                      LinearLayout::identity1D(outerSize, Dim::Lane, outer) *
                      LinearLayout::identity1D(waveLanes / outerSize, Dim::Lane, k);
  if (outerSize == waveLanes && instructionM != instructionN) // the other operand's lanes hold 16 pieces of K
    tile *= LinearLayout::identity1D(16, Dim::Register, k);
  tile = repeatToSize(tile, k, shape[int(k) - int(Dim::Dim0)]);
  tile *= LinearLayout::identity1D(tilesAlong(tilesPerWarp, !isA), Dim::Register, outer);
  LinearLayout warpLayout = withoutAxis(alongAxes(Dim::Warp, warps, rowMajor(shape.size())), k);
  return fitTile(withWarps(tile, warpLayout), shape);
}

// Blocks lie along K as elements do where a lane has one of them.
LinearLayout mfmaScale(const Shape &shape, const Shape &warps, int operand, int64_t instructionSize,
                       const Shape &tilesPerWarp) {
  Shape ofOperand = shape;
  Order order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  if (operand == 1) {
    std::swap(ofOperand.end()[-1], ofOperand.end()[-2]);
    std::swap(order.end()[-1], order.end()[-2]);
  }
  return permuteAxes(mfmaOperand(ofOperand, warps, operand, 1, instructionSize, instructionSize, tilesPerWarp), order);
}

} // namespace heddle::layout
