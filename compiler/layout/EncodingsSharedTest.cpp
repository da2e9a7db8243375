// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layouts of shared memory against their closed formulas: phases of rows, and the swizzled byte addresses of PTX.
#include "compiler/layout/Encodings.h"
#include "compiler/layout/TestLayout.h"
#include "support/TestError.h"

using namespace heddle;
using namespace heddle::layout;

namespace {

/// Where the layout has each element, as an array over flat indices, dim0 in the low bits.
std::vector<int64_t> offsetsOf(const LinearLayout &layout) {
  std::vector<int64_t> table = flatTable(layout), offsets(table.size(), -1);
  for (size_t offset = 0; offset < table.size(); ++offset)
    offsets[size_t(table[offset])] = int64_t(offset);
  return offsets;
}

} // namespace

TEST(LayoutShared, worked_rows) {
  LinearLayout layout = swizzledShared({4, 8}, 2, 1, 4, {1, 0});
  std::vector<int64_t> row;
  for (int64_t offset = 8; offset < 16; ++offset) {
    std::vector<int64_t> at = layout.apply({{Dim::Offset, offset}});
    EXPECT_EQ(at[0], 1);
    row.push_back(8 + at[1]);
  }
  EXPECT_EQ(row, (std::vector<int64_t>{10, 11, 8, 9, 14, 15, 12, 13}));
}

TEST(LayoutShared, swizzled_is_the_closed_formula) {
  for (int64_t rows : {1, 4, 32})
    for (int64_t columns : {1, 8, 64})
      for (int64_t vec : {1, 2, 8})
        for (int64_t perPhase : {1, 2, 4})
          for (int64_t maxPhase : {1, 2, 8}) {
            if (vec * maxPhase > columns)
              continue;
            LinearLayout layout = swizzledShared({rows, columns}, vec, perPhase, maxPhase, {1, 0});
            LinearLayout transposed = swizzledShared({columns, rows}, vec, perPhase, maxPhase, {0, 1});
            ASSERT_TRUE(layout.isInvertible());
            for (int64_t row = 0; row < rows; ++row)
              for (int64_t column = 0; column < columns; ++column) {
                int64_t place = ((column / vec) ^ (row / perPhase % maxPhase)) * vec + column % vec;
                ASSERT_EQ(layout.apply({{Dim::Offset, row * columns + place}}), (std::vector<int64_t>{row, column}));
                ASSERT_EQ(transposed.apply({{Dim::Offset, row * columns + place}}),
                          (std::vector<int64_t>{column, row}));
              }
          }
}

TEST(LayoutShared, rotating_begins_each_block_of_rows_with_its_number) {
  constexpr int64_t rows = 64, columns = 32, vec = 4, perPhase = 2, maxPhase = 8;
  LinearLayout layout = rotatingShared({rows, columns}, vec, perPhase, maxPhase, {1, 0});
  ASSERT_TRUE(layout.isInvertible());
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      int64_t phase = row / perPhase % maxPhase, block = row / (perPhase * maxPhase) % maxPhase;
      int64_t offset = row * columns + (column ^ vec * (phase ^ block));
      EXPECT_EQ(layout.apply({{Dim::Offset, offset}}), (std::vector<int64_t>{row, column}));
    }
}

TEST(LayoutShared, more_and_fewer_axes) {
  LinearLayout matrix = swizzledShared({8, 16}, 4, 1, 4, {1, 0}),
               batch = swizzledShared({2, 8, 16}, 4, 1, 4, {2, 1, 0});
  for (int64_t offset = 0; offset < 256; ++offset) {
    std::vector<int64_t> expected = matrix.apply({{Dim::Offset, offset % 128}});
    expected.insert(expected.begin(), offset / 128);
    EXPECT_EQ(batch.apply({{Dim::Offset, offset}}), expected);
  }
  EXPECT_EQ(swizzledShared({64}, 4, 1, 4, {0}), LinearLayout::identity1D(64, Dim::Offset, Dim::Dim0));
  LinearLayout narrow = swizzledShared({8, 4}, 4, 1, 4, {1, 0}); // phases beyond the row are none
  EXPECT_EQ(narrow, swizzledShared({8, 4}, 1, 1, 1, {1, 0}));
}

TEST(LayoutShared, nvmma_is_the_swizzle_of_byte_addresses) {
  for (int bits : {8, 16, 32})
    for (int64_t swizzle : {0, 32, 64, 128})
      for (int64_t rows : {8, 64})
        for (int64_t stripes : {1, 4}) {
          int64_t stripeBytes = std::max<int64_t>(16, swizzle), stripe = stripeBytes * 8 / bits,
                  columns = stripe * stripes;
          LinearLayout layout = nvmmaShared({rows, columns}, swizzle, bits, false);
          LinearLayout transposed = nvmmaShared({columns, rows}, swizzle, bits, true);
          ASSERT_TRUE(layout.isInvertible());
          for (int64_t row = 0; row < rows; ++row)
            for (int64_t column = 0; column < columns; ++column) {
              int64_t byte = (column / stripe * rows + row) * stripeBytes + column % stripe * bits / 8;
              if (swizzle != 0) // 16-byte groups within rows of 128 bytes
                byte ^= (byte >> 7 & (swizzle / 16 - 1)) << 4;
              ASSERT_EQ(layout.apply({{Dim::Offset, byte * 8 / bits}}), (std::vector<int64_t>{row, column}));
              ASSERT_EQ(transposed.apply({{Dim::Offset, byte * 8 / bits}}), (std::vector<int64_t>{column, row}));
            }
        }
}

TEST(LayoutShared, nvmma_collapses_outer_axes_to_rows) {
  LinearLayout matrix = nvmmaShared({32, 64}, 64, 16, false), batch = nvmmaShared({4, 8, 64}, 64, 16, false);
  std::vector<int64_t> flat = offsetsOf(matrix), split = offsetsOf(batch);
  for (int64_t outer = 0; outer < 4; ++outer)
    for (int64_t row = 0; row < 8; ++row)
      for (int64_t column = 0; column < 64; ++column)
        EXPECT_EQ(split[size_t(outer + 4 * (row + 8 * column))], flat[size_t(outer * 8 + row + 32 * column)]);
  LinearLayout transposed = nvmmaShared({4, 64, 8}, 64, 16, true);
  EXPECT_EQ(transposed.renameOutput(Dim::Dim1, Dim::Dim3)
                .renameOutput(Dim::Dim2, Dim::Dim1)
                .renameOutput(Dim::Dim3, Dim::Dim2)
                .transposeOutputs({Dim::Dim0, Dim::Dim1, Dim::Dim2}),
            batch);
}

// Tiles wider than the swizzle are panels of all rows, one after the other; transposed: rows and columns are swapped.
TEST(LayoutShared, nvmma_tables_of_triton) {
  EXPECT_EQ(
      basesOf(nvmmaShared({128, 32}, 128, 16, true), Dim::Offset),
      (Bases{{1, 0}, {2, 0}, {4, 0}, {8, 0}, {16, 0}, {32, 0}, {8, 1}, {16, 2}, {32, 4}, {0, 8}, {0, 16}, {64, 0}}));
  EXPECT_EQ(basesOf(nvmmaShared({2, 8, 64}, 64, 16, false), Dim::Offset), (Bases{{0, 0, 1},
                                                                                 {0, 0, 2},
                                                                                 {0, 0, 4},
                                                                                 {0, 0, 8},
                                                                                 {0, 0, 16},
                                                                                 {0, 1, 0},
                                                                                 {0, 2, 8},
                                                                                 {0, 4, 16},
                                                                                 {1, 0, 0},
                                                                                 {0, 0, 32}}));
  for (auto [rows, columns, bits] : {std::array<int64_t, 3>{16, 128, 16}, {16, 256, 8}, {16, 64, 32}, {64, 32, 64}})
    for (int64_t swizzle : {32, 64, 128}) {
      LinearLayout layout = nvmmaShared({rows, columns}, swizzle, int(bits), false);
      int64_t bytes = bits / 8, panel = swizzle / bytes, shift = 128 / swizzle, phases = swizzle / 16;
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) {
          int64_t offset = c / panel * rows * swizzle + r * swizzle + (c % panel * bytes ^ (r / shift % phases) << 4);
          ASSERT_EQ(layout.apply({{Dim::Offset, offset / bytes}}), (std::vector<int64_t>{r, c})) << swizzle;
        }
    }
}

TEST(LayoutShared, broken_preconditions_are_internal_errors) {
  auto internal = [](auto action) { return errorOf(action).kind == ErrorClass::Internal; };
  EXPECT_TRUE(internal([] { nvmmaShared({8, 32}, 128, 16, false); }));
  EXPECT_TRUE(internal([] { nvmmaShared({8, 64}, 16, 16, false); }));
  EXPECT_TRUE(internal([] { swizzledShared({8, 48}, 1, 1, 1, {1, 0}); }));
  EXPECT_TRUE(internal([] { swizzledShared({8, 16}, 3, 1, 1, {1, 0}); }));
  EXPECT_TRUE(internal([] { swizzledShared({8, 16}, 1, 1, 1, {1}); }));
}
