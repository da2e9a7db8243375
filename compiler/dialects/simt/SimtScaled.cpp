// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rules of matmuls with scales: formats and shapes, and where operands, scales and results lie. Source of the places:
// AMD CDNA 4 instruction set architecture, V_MFMA_SCALE_F32_16X16X128_F8F6F4 and its like of 32x32x64.
#include "compiler/dialects/simt/Simt.h"
#include "compiler/layout/Encodings.h"
#include <set>

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using layout::Dim;
using layout::LinearLayout;
using triton::ScaleDotElemType;

using Parts = std::set<SmallVector<int64_t>>;

/// What registers add to coordinates.
static Parts partsOf(const LinearLayout &layout) {
  Parts parts;
  for (int64_t reg = 0; reg < layout.inputSize(Dim::Register); ++reg)
    parts.insert(coordinatesOfRegister(layout, reg));
  return parts;
}

static layout::Shape shapeOf(RankedTensorType tile) {
  return {tile.getShape().begin(), tile.getShape().end()};
}

/// Of one warp that has the whole tile.
static LinearLayout ofOneWarp(MatrixAttr instruction, RankedTensorType tile, MatrixSide side, bool isScale) {
  layout::Shape shape = shapeOf(tile), warps(shape.size(), 1);
  int operand = side == MatrixSide::A ? 0 : 1;
  if (side == MatrixSide::D)
    return layout::mfmaAccumulator(shape, warps, instruction.getM(), instruction.getN(), instruction.getTransposed());
  if (isScale)
    return layout::mfmaScale(shape, warps, operand, instruction.getM());
  return layout::mfmaOperand(shape, warps, operand, scaledRunBytes, instruction.getM(), instruction.getN());
}

static bool placesLanesAlike(const LinearLayout &layout, const LinearLayout &wanted) {
  if (layout.inputBits(Dim::Lane) != wanted.inputBits(Dim::Lane))
    return false;
  for (int bit = 0; bit < wanted.inputBits(Dim::Lane); ++bit)
    for (const LinearLayout::Output &out : wanted.outputs())
      if (layout.basis(Dim::Lane, bit, out.dim) != wanted.basis(Dim::Lane, bit, out.dim))
        return false;
  return true;
}

/// Whether each warp moves along the axes of the product as it does in `results`, and along no other.
static bool placesWarpsAlike(const LinearLayout &layout, const LinearLayout &results, size_t k, size_t outer,
                             size_t ofResults) {
  if (layout.inputBits(Dim::Warp) != results.inputBits(Dim::Warp))
    return false;
  for (int bit = 0; bit < layout.inputBits(Dim::Warp); ++bit)
    for (size_t axis = 0; axis < layout.outputs().size(); ++axis) {
      size_t from = axis == outer ? ofResults : axis;
      int64_t wanted = axis == k ? 0 : results.basis(Dim::Warp, bit, layout::tileDim(int(from)));
      if (layout.basis(Dim::Warp, bit, layout::tileDim(int(axis))) != wanted)
        return false;
    }
  return true;
}

bool simt::liesForInstruction(MatrixAttr instruction, RankedTensorType tile, RankedTensorType results, MatrixSide side,
                              bool isScale) {
  const LinearLayout &layout = layoutOf(tile), &of = layoutOf(results);
  LinearLayout wanted = ofOneWarp(instruction, tile, side, isScale);
  if (!placesLanesAlike(layout, wanted))
    return false;
  size_t rank = size_t(tile.getRank()), row = rank - 2, column = rank - 1;
  Parts has = partsOf(layout), needed;
  if (side == MatrixSide::D) { // all of an instruction's results, of each of which a thread has some
    Parts ofOne = partsOf(wanted);
    for (SmallVector<int64_t> at : has) {
      at[row] &= -instruction.getM();
      at[column] &= -instruction.getN();
      for (const SmallVector<int64_t> &each : ofOne)
        if (each[row] < instruction.getM() && each[column] < instruction.getN() && (rank == 2 || each[0] == 0)) {
          SmallVector<int64_t> moved = at;
          moved[row] |= each[row];
          moved[column] |= each[column];
          needed.insert(moved);
        }
    }
    return llvm::all_of(needed, [&](const SmallVector<int64_t> &at) { return has.count(at) > 0; });
  }
  // Of the rows (columns) of the thread's results all blocks along K.
  bool isA = side == MatrixSide::A;
  size_t ofResults = isA ? row : column, outer = isA || isScale ? row : column, k = outer == row ? column : row;
  if (!placesWarpsAlike(layout, of, k, outer, ofResults))
    return false;
  int64_t size = isA ? instruction.getM() : instruction.getN();
  std::set<std::pair<int64_t, int64_t>> outers;
  for (const SmallVector<int64_t> &at : partsOf(of))
    outers.insert({rank == 3 ? at[0] : 0, at[ofResults] & -size});
  return llvm::all_of(partsOf(wanted), [&](const SmallVector<int64_t> &at) {
    return !outers.count({rank == 3 ? at[0] : 0, at[outer] & -size}) || has.count(at) > 0;
  });
}

//===-- Rules ----------------------------------------------------------------------------------------------------===//

namespace {
struct Side {
  const char *name;
  RankedTensorType tile;
  Value scale;
  ScaleDotElemType format;
  MatrixSide side;
  int64_t outer, k; ///< sizes, in elements
};
} // namespace

static bool isStoredAs(ScaleDotElemType format, Type stored) {
  switch (format) {
  case ScaleDotElemType::E4M3:
    return isa<Float8E4M3FNType>(stored) || stored.isInteger(8);
  case ScaleDotElemType::E5M2:
    return isa<Float8E5M2Type>(stored) || stored.isInteger(8);
  case ScaleDotElemType::E2M1:
    return stored.isInteger(8);
  default:
    return false;
  }
}

static LogicalResult verifySide(ScaledDotOp op, const Side &side, RankedTensorType d) {
  // Rule X2: elements of 8 bits, or two of e2m1 in as many.
  if (!isStoredAs(side.format, side.tile.getElementType()))
    return op.emitOpError() << "has " << side.name << " of format " << triton::stringifyScaleDotElemType(side.format)
                            << " in " << side.tile.getElementType()
                            << ": formats are e4m3, e5m2 and e2m1, the last in i8, the others in i8 or their own type";
  // Rule X3: a scale of 8 bits for each 32 elements along K.
  if (!side.scale)
    return success();
  auto scale = cast<RankedTensorType>(side.scale.getType());
  SmallVector<int64_t> wanted(d.getShape().drop_back(2));
  wanted.append({side.outer, side.k / scaledBlock});
  if (!hasLayout(scale) || !scale.getElementType().isInteger(8) || side.k % scaledBlock ||
      scale.getShape() != ArrayRef(wanted))
    return op.emitOpError() << "has " << scale << " as scales of " << side.name << ", which has " << side.outer
                            << " times " << side.k << " elements, " << scaledBlock << " to a scale of i8";
  return success();
}

static LogicalResult verifyPlaces(ScaledDotOp op, RankedTensorType tile, RankedTensorType d, const Side &side,
                                  bool isScale) {
  MatrixAttr instruction = op.getInstruction();
  // Rule X5: lanes, warps and registers hold what the instruction reads and leaves.
  if (liesForInstruction(instruction, tile, d, side.side, isScale))
    return success();
  return op.emitOpError() << "has " << (isScale ? "scales of " : "") << side.name << " in " << tile
                          << ", which is not where " << instruction.getM() << "x" << instruction.getN() << "x"
                          << instruction.getK() << " has them for results in " << d
                          << ": convert them by `simt.convert_layout`";
}

LogicalResult ScaledDotOp::verify() {
  auto a = cast<RankedTensorType>(getA().getType()), b = cast<RankedTensorType>(getB().getType()),
       d = cast<RankedTensorType>(getType());
  int64_t rank = d.getRank();
  int64_t perByteOfA = getAFormat() == ScaleDotElemType::E2M1 ? 2 : 1,
          perByteOfB = getBFormat() == ScaleDotElemType::E2M1 ? 2 : 1;
  // Rule X1: shapes as of a product, all with layouts, into f32.
  bool fits = (rank == 2 || rank == 3) && a.getRank() == rank && b.getRank() == rank && hasLayout(a) && hasLayout(b) &&
              hasLayout(d) && d.getElementType().isF32();
  fits = fits && a.getDimSize(rank - 1) * perByteOfA == b.getDimSize(rank - 2) * perByteOfB &&
         a.getDimSize(rank - 2) == d.getDimSize(rank - 2) && b.getDimSize(rank - 1) == d.getDimSize(rank - 1) &&
         (rank == 2 || (a.getDimSize(0) == d.getDimSize(0) && b.getDimSize(0) == d.getDimSize(0)));
  if (!fits)
    return emitOpError() << "multiplies " << a << " by " << b << " into " << d
                         << ": [B x] M x K by K x N gives M x N of f32, each with a layout; two elements of e2m1 are "
                            "one i8 along K";
  int64_t k = a.getDimSize(rank - 1) * perByteOfA;
  Side sides[] = {{"a", a, getAScale(), getAFormat(), MatrixSide::A, d.getDimSize(rank - 2), k},
                  {"b", b, getBScale(), getBFormat(), MatrixSide::B, d.getDimSize(rank - 1), k}};
  for (const Side &side : sides)
    if (failed(verifySide(*this, side, d)))
      return failure();
  // Rule X4: tiles of whole instructions, whose M and N are alike.
  MatrixAttr instruction = getInstruction();
  int64_t m = instruction.getM(), n = instruction.getN();
  if (instruction.getAs() || m != n || (m != 16 && m != 32) || instruction.getK() * m != 2048 ||
      d.getDimSize(rank - 2) % m || d.getDimSize(rank - 1) % n || k % instruction.getK())
    return emitOpError() << "multiplies " << a << " by " << b << " with an instruction of " << m << "x" << n << "x"
                         << instruction.getK() << ": it is 16x16x128 or 32x32x64, and divides the tiles";
  for (const Side &side : sides) {
    if (failed(verifyPlaces(*this, side.tile, d, side, false)))
      return failure();
    if (side.scale && failed(verifyPlaces(*this, cast<RankedTensorType>(side.scale.getType()), d, side, true)))
      return failure();
  }
  return verifyPlaces(*this, d, d, {"d", d, Value(), ScaleDotElemType::E4M3, MatrixSide::D, 0, 0}, false);
}
