// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which dots are matmuls, how they are cut, and the loop over K of one tile.
#include "program/Matmul.h"
#include "chips/Chip.h"
#include "program/Conversion.h"
#include <algorithm>

using namespace mlir;
using namespace heddle::triton;
using heddle::hlo::DType;
using heddle::tile::TileWriter;

namespace heddle::program {

/// A smaller dimension leaves most of a matrix instruction unused.
static constexpr int64_t leastDimension = 16;
/// Offsets within a tile are 32-bit integers.
static constexpr int64_t longestLine = int64_t(1) << 23;
/// Rows of tiles that come together.
static constexpr int64_t rowsOfGroup = 8;

/// The dimension that is folded is the last one or the first one; the others are one.
struct Side {
  int64_t kept = 0, folded = 0;
  bool foldedIsFirst = false;
};
static std::optional<Side> sideOf(const hlo::Shape &shape, const std::vector<int64_t> &contracting) {
  if (contracting.size() != 1 || shape.dimensions.size() < 2)
    return std::nullopt;
  int64_t last = int64_t(shape.dimensions.size()) - 1, at = contracting[0];
  if (at != 0 && at != last)
    return std::nullopt;
  Side side;
  side.folded = shape.dimensions[size_t(at)];
  side.kept = side.folded ? shape.elementCount() / side.folded : 0;
  side.foldedIsFirst = at == 0;
  return side;
}

static bool isMatrixType(DType type) {
  return type == DType::F16 || type == DType::BF16 || type == DType::F32;
}

std::optional<Matmul> matmulOf(const Graph &graph, const Node &node) {
  if (node.opcode() != hlo::Opcode::Dot)
    return std::nullopt;
  const hlo::DotDimensions &dims = node.instruction.dot;
  const hlo::Shape &lhs = graph.operand(node, 0).shape, &rhs = graph.operand(node, 1).shape;
  if (!dims.lhsBatch.empty() || lhs.type != rhs.type || !isMatrixType(lhs.type) || !isMatrixType(node.shape.type))
    return std::nullopt;
  std::optional<Side> left = sideOf(lhs, dims.lhsContracting), right = sideOf(rhs, dims.rhsContracting);
  if (!left || !right)
    return std::nullopt;
  Matmul matmul{left->kept, right->kept,    left->folded, left->foldedIsFirst, !right->foldedIsFirst,
                lhs.type,   node.shape.type};
  for (int64_t size : {matmul.rows, matmul.columns, matmul.depth})
    if (size < leastDimension || size > longestLine)
      return std::nullopt;
  return matmul;
}

/// A warp group's instruction of 256 columns reads less of shared memory for each product than two of 128, which take
/// so much longer: 1.15 times on an H200. What is left of the last turn of all units counts too.
static bool takesWideTiles(const MatmulTiles &tiles, int64_t units) {
  MatmulTiles wide = tiles;
  wide.tileColumns *= 2;
  auto turns = [&](const MatmulTiles &of) { return (of.tilesOfPart() * of.parts + units - 1) / units; };
  return double(2 * turns(wide)) < 1.15 * double(turns(tiles));
}

MatmulTiles tilesOf(const Matmul &shape, int64_t parts, const Chip &chip, bool mayBeWide) {
  MatmulTiles tiles;
  tiles.shape = shape;
  tiles.parts = parts;
  if (chip.vendor == Vendor::Host) {
    tiles.tileRows = tiles.tileColumns = tiles.tileDepth = 32;
    return tiles;
  }
  bool isNarrow = hlo::bitWidth(shape.type) == 16;
  int64_t units = std::max(1, chip.computeUnits);
  tiles.tileRows = tiles.tileColumns = isNarrow ? 128 : 64;
  tiles.tileDepth = isNarrow ? 64 : 32;
  tiles.warps = 8;
  if (isNarrow && tiles.tilesOfPart() * parts < units) {
    tiles.tileRows = tiles.tileColumns = 64;
    tiles.warps = 4;
  } else if (mayBeWide && isNarrow && chip.vendor == Vendor::Nvidia && takesWideTiles(tiles, units)) {
    tiles.tileColumns *= 2;
  }
  return tiles;
}

//===-- Code -----------------------------------------------------------------------------------------------------===//

MatmulWriter::Place MatmulWriter::placeOf(Value number) {
  int64_t down = tiles.down(), across = tiles.across();
  Place place;
  Value inPart = number;
  place.firstRow = w.i64(0);
  if (tiles.parts > 1) {
    Value part = w.divide(number, w.i64(tiles.tilesOfPart()));
    inPart = w.modulo(number, w.i64(tiles.tilesOfPart()));
    place.firstRow = w.mul(part, w.i64(tiles.partRows()));
  }
  int64_t height = std::min(rowsOfGroup, down);
  Value group = w.divide(inPart, w.i64(height * across)), inGroup = w.modulo(inPart, w.i64(height * across));
  Value first = w.mul(group, w.i64(height));
  Value rows = w.i64(height);
  if (down % height)
    rows = w.binary<arith::MinSIOp>(rows, w.sub(w.i64(down), first));
  place.row = w.mul(w.add(first, w.modulo(inGroup, rows)), w.i64(tiles.tileRows));
  place.column = w.mul(w.divide(inGroup, rows), w.i64(tiles.tileColumns));
  return place;
}

/// 0, stride, 2 * stride, ... along one dimension of a tile [down][across].
Value MatmulWriter::along(int64_t size, unsigned axis, int64_t down, int64_t across, int64_t stride) {
  Type integer = w.b.getI32Type();
  Value line = MakeRangeOp::create(w.b, RankedTensorType::get({size}, integer), 0, uint32_t(size));
  SmallVector<int64_t> shape = {size, 1};
  if (axis == 1)
    shape = {1, size};
  Value matrix = ExpandDimsOp::create(w.b, RankedTensorType::get(shape, integer), line, 1 - axis);
  if (stride != 1)
    matrix = w.mul(matrix, w.i32(stride));
  return BroadcastOp::create(w.b, RankedTensorType::get({down, across}, integer), matrix);
}

Value MatmulWriter::pointers(Value base, int64_t down, int64_t across, int64_t downStride, int64_t acrossStride) {
  Value offsets = w.add(along(down, 0, down, across, downStride), along(across, 1, down, across, acrossStride));
  return w.offset(base, offsets);
}

/// Which elements of a tile are among the first `left` (i64) along the axis.
Value MatmulWriter::within(Value left, int64_t down, int64_t across, unsigned axis) {
  Value bound = w.truncate(w.binary<arith::MinSIOp>(left, w.i64(axis ? across : down)), 32);
  return w.less(along(axis ? across : down, axis, down, across, 1), bound);
}

Value MatmulWriter::rowsOf(Value lhs, Value firstRow) {
  return w.offset(lhs, tiles.shape.lhsIsTransposed ? firstRow : w.mul(firstRow, w.i64(tiles.shape.depth)));
}

Value MatmulWriter::compute(const Place &place, Value lhs, Value rhs) {
  const Matmul &shape = tiles.shape;
  int64_t down = tiles.tileRows, across = tiles.tileColumns, depth = tiles.tileDepth;
  int64_t lhsRow = shape.lhsIsTransposed ? 1 : shape.depth, lhsStep = shape.lhsIsTransposed ? shape.rows : 1;
  int64_t rhsStep = shape.rhsIsTransposed ? 1 : shape.columns, rhsColumn = shape.rhsIsTransposed ? shape.depth : 1;
  auto both = [&](Value x, Value y) { return !x ? y : !y ? x : w.bitAnd(x, y); };
  Value lhsRows, rhsColumns;
  if (tiles.partRows() % down)
    lhsRows = within(w.sub(w.i64(tiles.partRows()), place.row), down, depth, 0);
  if (shape.columns % across)
    rhsColumns = within(w.sub(w.i64(shape.columns), place.column), depth, across, 1);
  Value lhsFirst = rowsOf(lhs, place.row), rhsFirst = w.offset(rhs, w.mul(place.column, w.i64(rhsColumn)));
  Type real = w.b.getF32Type();
  Value zero = arith::ConstantOp::create(
      w.b, DenseElementsAttr::get(RankedTensorType::get({down, across}, real), Attribute(w.b.getF32FloatAttr(0))));
  TileWriter::Values sums = w.forLoop(
      w.i64((shape.depth + depth - 1) / depth), {zero}, [&](Value number, ValueRange carried) -> TileWriter::Values {
        Value first = w.mul(number, w.i64(depth)), lhsMask = lhsRows, rhsMask = rhsColumns;
        if (shape.depth % depth) {
          Value left = w.sub(w.i64(shape.depth), first);
          lhsMask = both(lhsMask, within(left, down, depth, 1));
          rhsMask = both(rhsMask, within(left, depth, across, 0));
        }
        Value x =
            w.load(pointers(w.offset(lhsFirst, w.mul(first, w.i64(lhsStep))), down, depth, lhsRow, lhsStep), lhsMask);
        Value y = w.load(pointers(w.offset(rhsFirst, w.mul(first, w.i64(rhsStep))), depth, across, rhsStep, rhsColumn),
                         rhsMask);
        Value sum = DotOp::create(w.b, carried[0].getType(), x, y, carried[0], InputPrecision::IEEE, 0);
        return {sum};
      });
  Value rounded = toMemory(w, convertElement(w, sums[0], DType::F32, shape.result), shape.result);
  return ReshapeOp::create(w.b, RankedTensorType::get({down * across}, elementTypeOf(rounded.getType())), rounded);
}

Value MatmulWriter::indexOf(const Place &place, Value &exists) {
  Value lanes = w.range(tiles.tileElements()), across = w.i64(tiles.tileColumns);
  Value row = w.divide(lanes, across), column = w.modulo(lanes, across);
  exists = {};
  if (tiles.partRows() % tiles.tileRows)
    exists = w.less(row, w.sub(w.i64(tiles.partRows()), place.row));
  if (tiles.shape.columns % tiles.tileColumns) {
    Value inside = w.less(column, w.sub(w.i64(tiles.shape.columns), place.column));
    exists = exists ? w.bitAnd(exists, inside) : inside;
  }
  Value columns = w.i64(tiles.shape.columns), first = w.add(w.mul(place.row, columns), place.column);
  return w.add(w.add(w.mul(row, columns), column), first);
}

} // namespace heddle::program
