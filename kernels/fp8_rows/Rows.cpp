// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel of one scale for each row, by tiles of rows: their widths, and the body that several kernels share.
#include "kernels/fp8_rows/Rows.h"
#include "kernels/Quantise.h"
#include "support/Error.h"
#include <fmt/format.h>

using namespace heddle::build;

namespace heddle::kernels {
namespace {

using Rows = Choices<1, 2, 4, 8>;
using Blocks = Choices<128, 512, 1024, 2048>;
constexpr int64_t mostPieces = 16; ///< tiles of a row that are kept in registers

/// What the body reads.
struct RowsBody {
  const StepWriter &writer;
  const TypedArguments &values;
  const Quantise &how;
  int64_t pieces; ///< tiles of a row; above mostPieces the row is read twice
  bool stacked;   ///< several matrices that are not one matrix
  bool fullRows;  ///< the number of rows is a multiple of a block's
};

template <int64_t rows, int64_t block>
void quantiseRows(const RowsBody &body) {
  const TypedArguments &values = body.values;
  auto x = values.pointer("x"), q = values.pointer("q");
  auto columns = values.scalar<i32>("C");
  auto r = programId() * int(rows) + range<rows>();
  auto rowInside = body.fullRows ? full<i1, rows>(true) : r < values.scalar<i32>("R");
  Stride rowStride = body.writer.strideOf(values, "x_row"), columnStride = body.writer.strideOf(values, "x_column");

  auto columnsOf = [&](const Scalar<i32> &first) { return row(first + range<block>()); };
  auto address = [&](const auto &tile) {
    return [&](auto pointer) {
      auto matrix = [&](auto at, auto index) { return advance(advance(at, index, rowStride), tile, columnStride); };
      if (!body.stacked)
        return matrix(pointer, column(r));
      auto each = values.scalar<i32>("rows");
      return matrix(advance(pointer, column(r) / each, body.writer.strideOf(values, "x_matrix")), column(r) % each);
    };
  };
  auto inside = [&](const auto &tile) { return column(rowInside) && tile < columns; };
  auto read = [&](const Scalar<i32> &first) {
    auto tile = columnsOf(first);
    return loadNumbers<rows, block>(x, address(tile), inside(tile));
  };
  auto write = [&](const Scalar<i32> &first, const Tile<f32, rows, block> &numbers, const Tile<f32, rows> &scale) {
    auto tile = columnsOf(first);
    storeQuantised(q, numbers * column(scale), body.how, [&](auto pointer, auto converted) {
      store(pointer + column(cast<i64>(r) * cast<i64>(columns)) + tile, converted, inside(tile));
    });
  };
  auto finish = [&](const Tile<i32, rows, block> &largest) {
    auto scale = scaleOf(max(largest, axis<1>()), body.how);
    store(values.pointer("scales").as<f32>() + r, scale, rowInside);
    return scale;
  };

  auto none = zeros<i32, rows, block>();
  if (body.pieces > mostPieces) {
    auto largest = forRange(0, columns, int(block), none, [&](Scalar<i32> first, auto largest) {
      return maximum(largest, magnitudeBits(read(first), body.how));
    });
    auto scale = finish(largest);
    forRange(0, columns, int(block), [&](Scalar<i32> first) { write(first, read(first), scale); });
    return;
  }
  std::vector<Tile<f32, rows, block>> held;
  Tile<i32, rows, block> largest = none;
  for (int64_t piece = 0; piece < body.pieces; ++piece) {
    held.push_back(read(full<i32>(piece * block)));
    largest = maximum(largest, magnitudeBits(held.back(), body.how));
  }
  auto scale = finish(largest);
  for (int64_t piece = 0; piece < body.pieces; ++piece)
    write(full<i32>(piece * block), held[size_t(piece)], scale);
}

} // namespace

/// Of the wide tiles the one that leaves the fewest lanes without an element, of equals the wider.
static int64_t fittingBlock(int64_t columns) {
  if (columns < 1024)
    return columns < 512 ? 128 : 512;
  return blocksFor(columns, 2048) * 2048 <= blocksFor(columns, 1024) * 1024 ? 2048 : 1024;
}

std::vector<TileParameter> rowsTiles() {
  return {{"rows", Rows::list(), "rows of a block"},
          {"block", Blocks::list(), "columns of a tile"},
          {"warps", {1, 2, 4, 8, 16}, "warps of a block"}};
}

Step rowsStep(const Call &call, const std::string &name, const RowsView &view) {
  Quantise how(call);
  bool stacked = view.count > 1 && view.matrixStride != view.rows * view.rowStride;
  int64_t total = view.count * view.rows;
  if (total > INT32_MAX)
    throw inputError(fmt::format("kernel `{}`: {} matrices of {} rows are {} rows, and at most {} can be counted", name,
                                 view.count, view.rows, total, INT32_MAX),
                     {"several calls on parts of the matrices have fewer"});
  int64_t block = call.tile("block", fittingBlock(view.columns)); // short rows share a block of threads
  int64_t rows = call.tile("rows", view.columns >= 1024 ? 1 : view.columns >= 512 ? 2 : 8);
  StepWriter writer(name);
  writer.buffer("x", view.type);
  writer.buffer("q", how.type);
  writer.buffer("scales", ElementType::F32);
  writer.count("R", total);
  writer.count("C", view.columns);
  writer.stride("x_row", view.rowStride);
  writer.stride("x_column", view.columnStride);
  if (stacked) {
    writer.stride("x_matrix", view.matrixStride);
    writer.count("rows", view.rows);
  }
  const int64_t pieces = blocksFor(view.columns, block);
  Step step = writer.finish({blocksFor(total, rows), 1, 1}, call.tile("warps", view.columns > 8192 ? 8 : 4),
                            [&](const TypedArguments &values) {
                              RowsBody body{writer, values, how, pieces, stacked, total % rows == 0};
                              choose(Rows(), rows, [&]<int64_t r>() {
                                choose(Blocks(), block, [&]<int64_t b>() { quantiseRows<r, b>(body); });
                              });
                            });
  if (pieces <= mostPieces)
    step.heldWords = pieces * rows * block;
  return step;
}

} // namespace heddle::kernels
