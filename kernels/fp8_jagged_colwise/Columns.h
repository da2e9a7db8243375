// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a block does of columns of groups of rows: the largest magnitude of each, its scale, and its values,
// transposed. Two kernels of the library do it, of one matrix and of two in one launch.
#pragma once
#include "kernels/Jagged.h"
#include "kernels/SharedStrip.h"

namespace heddle::kernels {

using BlocksOfColumns = Choices<16, 32, 64, 128>;
using BlocksOfGroupedRows = Choices<32, 64, 128>;
using SharedBlocksOfColumns = Choices<16, 32, 64, 128>; // of method `cooperative`
using SharedBlocksOfGroupedRows = Choices<128, 256, 512, 1024>;

/// A tile is [k, n]. The names of a matrix's arguments end with `suffix`; `block` counts its tiles of columns.
template <int64_t bk, int64_t bn>
struct ColumnsOfGroups {
  static constexpr int64_t along = bk, across = bn;

  const StepWriter &writer;
  const build::TypedArguments &values;
  const Quantise &how;
  build::Scalar<build::i32> block;
  std::string suffix = "";

  build::Scalar<build::i32> K = values.scalar<build::i32>("K"), N = values.scalar<build::i32>("lines" + suffix);
  build::Tile<build::i32, bn> n = block * int(bn) + build::range<bn>();

  build::TypedPointer input() const { return values.pointer("x" + suffix); }
  build::Tile<build::i1, bk, bn> isIn(const build::Tile<build::i32, bk> &k, const Group &group) const {
    return build::column(k >= group.first && k < group.end) && build::row(n < N);
  }
  template <class E>
  build::Tile<E, bk, bn> load(const build::Tile<build::i32, bk> &k, const Group &group) const {
    using namespace build;
    auto rows = advance(input().template as<E>(), column(k), writer.strideOf(values, "x_k" + suffix));
    return build::load(advance(rows, row(n), writer.strideOf(values, "x_line" + suffix)), isIn(k, group), 0);
  }
  build::Tile<build::f32, bk, bn> read(const build::Tile<build::i32, bk> &k, const Group &group) const {
    std::optional<build::Tile<build::f32, bk, bn>> numbers;
    withNumber(input().type, [&]<class E>() { numbers = build::cast<build::f32>(load<E>(k, group)); });
    return *numbers;
  }
  void write(const build::Tile<build::i32, bk> &k, const Group &group, const build::Tile<build::f32, bk, bn> &numbers,
             const build::Tile<build::f32, bn> &scale) const {
    using namespace build;
    storeQuantised(values.pointer("q" + suffix), numbers * row(scale), how, [&](auto pointer, auto converted) {
      store(pointer + column(cast<i64>(n) * cast<i64>(K)) + row(k), trans(converted), trans(isIn(k, group)));
    });
  }
  build::Tile<build::i1, bn> exist() const { return n < N; }
  build::Tile<build::i64, bn> scaleIndex(const build::Scalar<build::i32> &g) const {
    return build::cast<build::i64>(g) * build::cast<build::i64>(N) + build::cast<build::i64>(n);
  }
  void storeScale(const build::Scalar<build::i32> &g, const build::Tile<build::f32, bn> &scale,
                  const build::Scalar<build::i1> &isFirst) const {
    build::store(values.pointer("scales" + suffix).template as<build::f32>() + scaleIndex(g), scale, n < N && isFirst);
  }

  template <class E>
  build::Tile<build::i32, bn> largestOf(const build::Tile<E, bk, bn> &numbers) const {
    return largestAlong<0>(numbers, how);
  }
  /// The largest magnitudes of these rows.
  build::Tile<build::i32, bn> largestOf(const Group &rows) const {
    using namespace build;
    auto largest = forRange(rows.first, rows.end, int(bk), zeros<i32, bk, bn>(), [&](Scalar<i32> first, auto largest) {
      return maximum(largest, magnitudeBits(read(first + range<bk>(), rows), how));
    });
    return max(largest, axis<0>());
  }
  void castPart(const Group &rows, const build::Tile<build::f32, bn> &scale) const {
    using namespace build;
    forRange(rows.first, rows.end, int(bk), [&](Scalar<i32> first) {
      auto k = first + range<bk>();
      write(k, rows, read(k, rows), scale);
    });
  }

  /// A group, by one block. The second read of a group finds the caches filled by the first.
  void quantise(const build::Scalar<build::i32> &g, const Group &group) const {
    auto scale = scaleOf(largestOf(group), how);
    storeScale(g, scale, build::full<build::i1>(true));
    castPart(group, scale);
  }
  /// The same columns, a few rows at a time.
  ColumnsOfGroups<32, bn> few() const { return {writer, values, how, block, suffix}; }
};

/// Options, tile parameters and what may be tuned, of one matrix or two.
std::vector<Option> columnsOptions();
std::vector<TileParameter> columnsTiles();
std::vector<TuningVariant> columnsVariants();
/// The rows of a part where the caller does not say.
int64_t usualSharedK(const Call &call);

} // namespace heddle::kernels
