// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a block does of columns of a group of rows: the largest magnitude of each, its scale, and its values,
// transposed. Two kernels of the library do it, of one matrix and of two in one launch.
#pragma once
#include "kernels/Jagged.h"

namespace heddle::kernels {

using BlocksOfColumns = Choices<16, 32, 64, 128>;
using BlocksOfGroupedRows = Choices<32, 64, 128>;

/// A tile is [k, n]. The names of a matrix's arguments end with `suffix`; `block` counts its tiles of columns.
template <int64_t bk, int64_t bn>
struct ColumnsOfGroups {
  const StepWriter &writer;
  const build::TypedArguments &values;
  const Quantise &how;
  std::string suffix = "";

  build::Scalar<build::i32> K = values.scalar<build::i32>("K"), N = values.scalar<build::i32>("lines" + suffix),
                            g = build::programId(1), block = build::programId(0);
  build::Tile<build::i32, bn> n = block * int(bn) + build::range<bn>();

  build::Tile<build::f32, bk, bn> read(const build::Tile<build::i32, bk> &k, const Group &group) const {
    using namespace build;
    auto address = [&](auto pointer) {
      return advance(advance(pointer, column(k), writer.strideOf(values, "x_k" + suffix)), row(n),
                     writer.strideOf(values, "x_line" + suffix));
    };
    return loadNumbers<bk, bn>(values.pointer("x" + suffix), address, column(k < group.end) && row(n < N));
  }
  void write(const build::Tile<build::i32, bk> &k, const Group &group, const build::Tile<build::f32, bk, bn> &numbers,
             const build::Tile<build::f32, bn> &scale) const {
    using namespace build;
    storeQuantised(values.pointer("q" + suffix), numbers * row(scale), how, [&](auto pointer, auto converted) {
      store(pointer + column(cast<i64>(n) * cast<i64>(K)) + row(k), trans(converted),
            column(n < N) && row(k < group.end));
    });
  }

  /// The second read of a group finds the caches filled by the first.
  void quantise(const Group &group) const {
    using namespace build;
    auto largest =
        forRange(group.first, group.end, int(bk), zeros<i32, bk, bn>(), [&](Scalar<i32> first, auto largest) {
          return maximum(largest, magnitudeBits(read(first + range<bk>(), group), how));
        });
    auto scale = scaleOf(max(largest, axis<0>()), how);
    auto at = cast<i64>(g) * cast<i64>(N) + cast<i64>(n);
    store(values.pointer("scales" + suffix).template as<f32>() + at, scale, n < N);
    forRange(group.first, group.end, int(bk), [&](Scalar<i32> first) {
      auto k = first + range<bk>();
      write(k, group, read(k, group), scale);
    });
  }
};

} // namespace heddle::kernels
