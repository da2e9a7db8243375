// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dots that are matmuls, and their tiles by matrix instructions: the same code in a kernel of their own and in those of
// collectives, so that both give the same bits.
#pragma once
#include "frontend/tile/TileWriter.h"
#include "program/DotAxes.h"
#include <optional>
#include <string>

namespace heddle {
struct Chip;
}

namespace heddle::program {

/// result[rows][columns] = lhs[rows][depth] * rhs[depth][columns]; several dimensions may be one of these. A transposed
/// operand lies in memory as [depth][rows] or [columns][depth].
struct Matmul {
  int64_t rows = 0, columns = 0, depth = 0;
  bool lhsIsTransposed = false, rhsIsTransposed = false;
  hlo::DType type = hlo::DType::F32; ///< of both operands: f16, bf16 or f32
  hlo::DType result = hlo::DType::F32;
};

/// Nothing for a dot with batch dimensions, of other types, of a dimension below 16 or too long for 32-bit offsets.
std::optional<Matmul> matmulOf(const Graph &graph, const Node &node);

/// The same as axes.
DotAxes axesOf(const Matmul &matmul);

/// Whether a dot is computed in tiles: of types that tiles have, with `leastProducts` products of two elements or more
/// in each of its matmuls.
bool isTiled(const DotAxes &axes, int64_t leastProducts);

/// How the result is cut: into `parts` of as many rows, those into tiles, which are numbered part by part. A group of
/// tile rows comes before the next one, so that blocks that run at once read the same rows and columns.
struct MatmulTiles {
  Matmul shape;
  int64_t parts = 1;
  int64_t tileRows = 0, tileColumns = 0, tileDepth = 0;
  int warps = 4; ///< GPUs: of a block

  int64_t partRows() const { return shape.rows / parts; }
  int64_t down() const { return (partRows() + tileRows - 1) / tileRows; }
  int64_t across() const { return (shape.columns + tileColumns - 1) / tileColumns; }
  int64_t tilesOfPart() const { return down() * across(); }
  int64_t tileElements() const { return tileRows * tileColumns; }
};

/// Of a shape whose rows `parts` divides: large tiles where each compute unit gets some. The depth, by
/// which sums are cut, depends on the type only.
/// `mayBeWide`: off where a tile is sent as packets too, for which a thread has no registers beside so many sums.
MatmulTiles tilesOf(const Matmul &shape, int64_t parts, const Chip &chip, bool mayBeWide = true);

/// Of a dot: each of its matmuls is a part. A tile is not larger than a small matrix.
MatmulTiles tilesOfDot(const DotAxes &axes, const Chip &chip);

/// Writes code for tiles.
class MatmulWriter {
public:
  MatmulWriter(tile::TileWriter &writer, const MatmulTiles &tiles) : MatmulWriter(writer, tiles, axesOf(tiles.shape)) {}
  MatmulWriter(tile::TileWriter &writer, const MatmulTiles &tiles, const DotAxes &axes)
      : w(writer), tiles(tiles), axes(axes) {}

  struct Place {
    mlir::Value row;      ///< i64: the tile's first one, within its part
    mlir::Value column;   ///< i64: the tile's first one
    mlir::Value firstRow; ///< i64: of the part in the array
    mlir::Value part;     ///< i64: its number
  };
  /// `number`: of a tile of all parts (i64).
  Place placeOf(mlir::Value number);
  /// The elements of the tile, rounded to the result's type, as memory has them: one dimension, row by row. `lhs`
  /// points to row `firstRow` of the left operand. What is beyond the matrices is anything.
  mlir::Value compute(const Place &place, mlir::Value lhs, mlir::Value rhs);
  /// The indices of those elements in their part (i64 tile), and which exist (null: all).
  mlir::Value indexOf(const Place &place, mlir::Value &exists);
  /// A pointer to row `firstRow` of the left operand.
  mlir::Value rowsOf(mlir::Value lhs, mlir::Value firstRow);

  /// How many elements of each array precede those of an index (i64) of all `axes` together.
  struct Offsets {
    mlir::Value lhs, rhs, result;
  };
  Offsets offsetsOf(mlir::Value index, const std::vector<DotAxis> &axes);

private:
  mlir::Value operand(mlir::Value pointers, mlir::Value mask, hlo::DType type);
  mlir::Value pointers(mlir::Value base, int64_t down, int64_t across, int64_t downStride, int64_t acrossStride);
  mlir::Value within(mlir::Value left, int64_t down, int64_t across, unsigned axis);
  mlir::Value along(int64_t size, unsigned axis, int64_t down, int64_t across, int64_t stride, unsigned bits = 32);
  tile::TileWriter &w;
  const MatmulTiles tiles;
  const DotAxes axes;
};

} // namespace heddle::program
