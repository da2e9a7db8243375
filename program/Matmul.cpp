// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which dots are matmuls, how they are cut, and the loop over K of one tile.
#include "program/Matmul.h"
#include "chips/Chip.h"
#include "program/Conversion.h"
#include "program/NarrowTypes.h"
#include "program/Types.h"
#include <algorithm>
#include <bit>

using namespace mlir;
using namespace heddle::triton;
using heddle::hlo::DType;
using heddle::tile::TileWriter;

namespace heddle::program {

/// Of a matmul in the kernel of a collective: a smaller dimension leaves most of a matrix instruction unused.
static constexpr int64_t leastDimension = 16;
/// Of such a matmul: it keeps offsets within a tile 32-bit integers.
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

DotAxes axesOf(const Matmul &m) {
  DotAxes axes;
  axes.row = {m.rows, m.lhsIsTransposed ? 1 : m.depth, 0, m.columns};
  axes.column = {m.columns, 0, m.rhsIsTransposed ? m.depth : 1, 1};
  axes.depth = {m.depth, m.lhsIsTransposed ? m.rows : 1, m.rhsIsTransposed ? 1 : m.columns, 0};
  axes.lhs = axes.rhs = m.type;
  axes.result = m.result;
  return axes;
}

/// What the products of a dot are summed in.
static DType sumType(DType result) {
  return !hlo::isFloating(result) ? DType::S32 : hlo::bitWidth(result) == 64 ? DType::F64 : DType::F32;
}

/// What an operand is multiplied as. Integers with the same low bits have products with the same low bits.
static DType multipliedAs(const DotAxes &axes, DType operand) {
  DType sum = sumType(axes.result);
  if (sum == DType::S32)
    return axes.lhs == DType::S8 && axes.rhs == DType::S8 ? operand : sum;
  bool isNative = axes.lhs == axes.rhs ? hlo::bitWidth(operand) <= 32 : isFp8(axes.lhs) && isFp8(axes.rhs);
  return sum == DType::F32 && isNative ? operand : sum;
}

/// Of both operands of types that tiles have.
static bool areTileTypes(const DotAxes &axes) {
  auto isOne = [](DType type) { return !isNarrow(type) && type != DType::Pred && bufferType(type); };
  bool areReal = hlo::isFloating(axes.result);
  for (DType type : {axes.lhs, axes.rhs, axes.result})
    if (!isOne(type) || hlo::isFloating(type) != areReal || (!areReal && hlo::bitWidth(type) > 32))
      return false;
  return true;
}

bool isTiled(const DotAxes &axes, int64_t leastProducts) {
  int64_t products = 1; // as many as matter
  for (const DotAxis &axis : {axes.row, axes.column, axes.depth})
    products = std::min(leastProducts, products * axis.size);
  for (const DotAxis &axis : axes.outerDepth)
    products = axis.size ? products : 0;
  return products >= leastProducts && axes.matmuls() > 0 && areTileTypes(axes);
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
    constexpr int64_t large = 64, small = 32; // of 512 x 3072 x 768 in f32, 1.2 to 1.4 times as fast
    tiles.tileRows = tiles.tileColumns = std::min(tiles.partRows(), shape.columns) < large ? small : large;
    tiles.tileDepth = small;
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

MatmulTiles tilesOfDot(const DotAxes &axes, const Chip &chip) {
  Matmul shape;
  shape.rows = axes.row.size * axes.matmuls(), shape.columns = axes.column.size, shape.depth = axes.depth.size;
  shape.type = hlo::bitWidth(multipliedAs(axes, axes.lhs)) <= 16 ? DType::F16 : DType::F32;
  shape.result = axes.result;
  MatmulTiles tiles = tilesOf(shape, axes.matmuls(), chip);
  bool isGpu = chip.vendor != Vendor::Host;
  if (!isGpu)
    tiles.tileRows = tiles.tileColumns = tiles.tileDepth = 64;
  // Smaller tiles have no matrix instruction.
  constexpr int64_t elementsPerWarp = 256;
  auto shrink = [&](int64_t &tile, int64_t size, int64_t least) {
    tile = std::min(tile, std::max(isGpu ? least : 1, int64_t(std::bit_ceil(uint64_t(size)))));
  };
  shrink(tiles.tileRows, axes.row.size, 16);
  shrink(tiles.tileColumns, axes.column.size, 16);
  shrink(tiles.tileDepth, axes.depth.size, 32);
  tiles.warps = int(std::clamp<int64_t>(tiles.tileElements() / elementsPerWarp, 1, tiles.warps));
  return tiles;
}

//===-- Code -----------------------------------------------------------------------------------------------------===//

MatmulWriter::Place MatmulWriter::placeOf(Value number) {
  int64_t down = tiles.down(), across = tiles.across();
  Place place;
  Value inPart = number;
  place.firstRow = place.part = w.i64(0);
  if (tiles.parts > 1) {
    place.part = w.divide(number, w.i64(tiles.tilesOfPart()));
    inPart = w.modulo(number, w.i64(tiles.tilesOfPart()));
    place.firstRow = w.mul(place.part, w.i64(tiles.partRows()));
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
Value MatmulWriter::along(int64_t size, unsigned axis, int64_t down, int64_t across, int64_t stride, unsigned bits) {
  Value line = MakeRangeOp::create(w.b, RankedTensorType::get({size}, w.b.getI32Type()), 0, uint32_t(size));
  line = w.extend(line, bits);
  Type integer = w.b.getIntegerType(bits);
  SmallVector<int64_t> shape = {size, 1};
  if (axis == 1)
    shape = {1, size};
  Value matrix = ExpandDimsOp::create(w.b, RankedTensorType::get(shape, integer), line, 1 - axis);
  if (stride != 1)
    matrix = w.mul(matrix, bits == 64 ? w.i64(stride) : w.i32(stride));
  return BroadcastOp::create(w.b, RankedTensorType::get({down, across}, integer), matrix);
}

Value MatmulWriter::pointers(Value base, int64_t down, int64_t across, int64_t downStride, int64_t acrossStride) {
  unsigned bits = down * downStride + across * acrossStride < int64_t(1) << 31 ? 32 : 64;
  Value offsets =
      w.add(along(down, 0, down, across, downStride, bits), along(across, 1, down, across, acrossStride, bits));
  return w.offset(base, offsets);
}

/// Which elements of a tile are among the first `left` (i64) along the axis.
Value MatmulWriter::within(Value left, int64_t down, int64_t across, unsigned axis) {
  Value bound = w.truncate(w.binary<arith::MinSIOp>(left, w.i64(axis ? across : down)), 32);
  return w.less(along(axis ? across : down, axis, down, across, 1), bound);
}

Value MatmulWriter::rowsOf(Value lhs, Value firstRow) {
  return w.offset(lhs, axes.row.lhs == 1 ? firstRow : w.mul(firstRow, w.i64(axes.row.lhs)));
}

MatmulWriter::Offsets MatmulWriter::offsetsOf(Value index, const std::vector<DotAxis> &axes) {
  Value zero = w.i64(0);
  Offsets offsets{zero, zero, zero};
  for (size_t i = axes.size(); i-- > 0;) {
    const DotAxis &axis = axes[i];
    Value own = i ? w.modulo(index, w.i64(axis.size)) : index;
    index = i ? w.divide(index, w.i64(axis.size)) : index;
    offsets = {w.add(offsets.lhs, w.mul(own, w.i64(axis.lhs))), w.add(offsets.rhs, w.mul(own, w.i64(axis.rhs))),
               w.add(offsets.result, w.mul(own, w.i64(axis.result)))};
  }
  return offsets;
}

Value MatmulWriter::operand(Value pointers, Value mask, DType type) {
  return convertElement(w, w.load(pointers, mask), type, multipliedAs(axes, type));
}

Value MatmulWriter::compute(const Place &place, Value lhs, Value rhs) {
  const DotAxis &rows = axes.row, &columns = axes.column, &inner = axes.depth;
  int64_t down = tiles.tileRows, across = tiles.tileColumns, depth = tiles.tileDepth;
  auto both = [&](Value x, Value y) { return !x ? y : !y ? x : w.bitAnd(x, y); };
  Value lhsRows, rhsColumns;
  if (tiles.partRows() % down)
    lhsRows = within(w.sub(w.i64(tiles.partRows()), place.row), down, depth, 0);
  if (columns.size % across)
    rhsColumns = within(w.sub(w.i64(columns.size), place.column), depth, across, 1);
  Value lhsFirst = rowsOf(lhs, place.row), rhsFirst = w.offset(rhs, w.mul(place.column, w.i64(columns.rhs)));
  Type sumElement = registerType(*w.b.getContext(), sumType(axes.result));
  Value zero = arith::ConstantOp::create(
      w.b, cast<TypedAttr>(w.b.getZeroAttr(RankedTensorType::get({down, across}, sumElement))));
  int64_t steps = (inner.size + depth - 1) / depth, outer = 1;
  for (const DotAxis &axis : axes.outerDepth)
    outer *= axis.size;
  TileWriter::Values sums =
      w.forLoop(w.i64(steps * outer), {zero}, [&](Value number, ValueRange carried) -> TileWriter::Values {
        Value lhsHere = lhsFirst, rhsHere = rhsFirst, lhsMask = lhsRows, rhsMask = rhsColumns;
        if (outer > 1) {
          Offsets offsets = offsetsOf(w.divide(number, w.i64(steps)), axes.outerDepth);
          lhsHere = w.offset(lhsHere, offsets.lhs), rhsHere = w.offset(rhsHere, offsets.rhs);
          number = w.modulo(number, w.i64(steps));
        }
        Value first = w.mul(number, w.i64(depth));
        if (inner.size % depth) {
          Value left = w.sub(w.i64(inner.size), first);
          lhsMask = both(lhsMask, within(left, down, depth, 1));
          rhsMask = both(rhsMask, within(left, depth, across, 0));
        }
        Value x = operand(pointers(w.offset(lhsHere, w.mul(first, w.i64(inner.lhs))), down, depth, rows.lhs, inner.lhs),
                          lhsMask, axes.lhs);
        Value y =
            operand(pointers(w.offset(rhsHere, w.mul(first, w.i64(inner.rhs))), depth, across, inner.rhs, columns.rhs),
                    rhsMask, axes.rhs);
        Value sum = DotOp::create(w.b, carried[0].getType(), x, y, carried[0], InputPrecision::IEEE, 0);
        return {sum};
      });
  Value rounded = toMemory(w, convertElement(w, sums[0], sumType(axes.result), axes.result), axes.result);
  return ReshapeOp::create(w.b, RankedTensorType::get({down * across}, elementTypeOf(rounded.getType())), rounded);
}

Value MatmulWriter::indexOf(const Place &place, Value &exists) {
  Value lanes = w.range(tiles.tileElements()), across = w.i64(tiles.tileColumns);
  Value row = w.divide(lanes, across), column = w.modulo(lanes, across);
  exists = {};
  if (tiles.partRows() % tiles.tileRows)
    exists = w.less(row, w.sub(w.i64(tiles.partRows()), place.row));
  if (axes.column.size % tiles.tileColumns) {
    Value inside = w.less(column, w.sub(w.i64(axes.column.size), place.column));
    exists = exists ? w.bitAnd(exists, inside) : inside;
  }
  Value rowStride = w.i64(axes.row.result);
  auto alongRow = [&](Value at) { return axes.column.result == 1 ? at : w.mul(at, w.i64(axes.column.result)); };
  Value first = w.add(w.mul(place.row, rowStride), alongRow(place.column));
  return w.add(w.add(w.mul(row, rowStride), alongRow(column)), first);
}

} // namespace heddle::program
