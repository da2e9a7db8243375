// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Constructors of register layouts: worked bases, coverage of the tile, plain definitions, and the formulas by which
// the manuals say where the fragments of matrix instructions are.
#include "compiler/layout/Axes.h"
#include "compiler/layout/TestLayout.h"
#include "support/TestError.h"
#include <set>

using namespace heddle;
using namespace heddle::layout;

TEST(LayoutEncodings, worked_blocked_and_slice) {
  LinearLayout layout = blocked({16, 16}, {2, 2}, {8, 4}, {1, 2}, {1, 0});
  EXPECT_EQ(basesOf(layout, Dim::Register), (Bases{{0, 1}, {1, 0}}));
  EXPECT_EQ(basesOf(layout, Dim::Lane), (Bases{{0, 2}, {0, 4}, {2, 0}, {4, 0}, {8, 0}}));
  EXPECT_EQ(basesOf(layout, Dim::Warp), (Bases{{0, 8}}));
  LinearLayout sliced = slice(layout, 0);
  EXPECT_EQ(basesOf(sliced, Dim::Register), (Bases{{1}}));
  EXPECT_EQ(basesOf(sliced, Dim::Lane), (Bases{{2}, {4}, {0}, {0}, {0}}));
  EXPECT_EQ(basesOf(sliced, Dim::Warp), (Bases{{8}}));
}

TEST(LayoutEncodings, worked_mfma) {
  auto registers = [](int64_t m, int64_t n, bool transposed) {
    return basesOf(mfmaAccumulator({m, n}, {1, 1}, m, n, transposed), Dim::Register);
  };
  auto lanes = [](int64_t m, int64_t n, bool transposed) {
    return basesOf(mfmaAccumulator({m, n}, {1, 1}, m, n, transposed), Dim::Lane);
  };
  EXPECT_EQ(registers(32, 32, false), (Bases{{1, 0}, {2, 0}, {8, 0}, {16, 0}}));
  EXPECT_EQ(lanes(32, 32, false), (Bases{{0, 1}, {0, 2}, {0, 4}, {0, 8}, {0, 16}, {4, 0}}));
  EXPECT_EQ(registers(32, 32, true), (Bases{{0, 1}, {0, 2}, {0, 8}, {0, 16}}));
  EXPECT_EQ(lanes(32, 32, true), (Bases{{1, 0}, {2, 0}, {4, 0}, {8, 0}, {16, 0}, {0, 4}}));
  EXPECT_EQ(registers(16, 16, false), (Bases{{1, 0}, {2, 0}}));
  EXPECT_EQ(lanes(16, 16, false), (Bases{{0, 1}, {0, 2}, {0, 4}, {0, 8}, {4, 0}, {8, 0}}));
  EXPECT_EQ(registers(16, 16, true), (Bases{{0, 1}, {0, 2}}));
  EXPECT_EQ(lanes(16, 16, true), (Bases{{1, 0}, {2, 0}, {4, 0}, {8, 0}, {0, 4}, {0, 8}}));

  LinearLayout operand = mfmaOperand({64, 32}, {2, 2}, 0, 8, 16, 16);
  EXPECT_EQ(basesOf(operand, Dim::Register), (Bases{{0, 1}, {0, 2}, {0, 4}, {32, 0}}));
  EXPECT_EQ(basesOf(operand, Dim::Lane), (Bases{{1, 0}, {2, 0}, {4, 0}, {8, 0}, {0, 8}, {0, 16}}));
  EXPECT_EQ(basesOf(operand, Dim::Warp), (Bases{{0, 0}, {16, 0}}));
}

TEST(LayoutEncodings, worked_mma) {
  LinearLayout layout = mmaAccumulator({16, 8}, {1, 1});
  EXPECT_EQ(basesOf(layout, Dim::Register), (Bases{{0, 1}, {8, 0}}));
  EXPECT_EQ(basesOf(layout, Dim::Lane), (Bases{{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}));
  layout = wgmmaAccumulator({64, 64}, {4, 1}, 64);
  EXPECT_EQ(basesOf(layout, Dim::Register), (Bases{{0, 1}, {8, 0}, {0, 8}, {0, 16}, {0, 32}}));
  EXPECT_EQ(basesOf(layout, Dim::Warp), (Bases{{16, 0}, {32, 0}}));
  layout = mmaOperand({16, 16}, {1, 1}, 0, 2);
  EXPECT_EQ(basesOf(layout, Dim::Register), (Bases{{0, 1}, {8, 0}, {0, 8}}));
  layout = mmaOperand({16, 8}, {1, 1}, 1, 2);
  EXPECT_EQ(basesOf(layout, Dim::Register), (Bases{{1, 0}, {8, 0}}));
  EXPECT_EQ(basesOf(layout, Dim::Lane), (Bases{{2, 0}, {4, 0}, {0, 1}, {0, 2}, {0, 4}}));
}

TEST(LayoutEncodings, worked_repetition_is_along_n_first) {
  LinearLayout layout = mmaAccumulator({64, 32}, {2, 2});
  EXPECT_EQ(basesOf(layout, Dim::Register), (Bases{{0, 1}, {8, 0}, {0, 16}, {32, 0}}));
  EXPECT_EQ(basesOf(layout, Dim::Warp), (Bases{{0, 8}, {16, 0}}));
}

namespace {

/// The layout is what the function says for every register, lane and warp.
template <typename Function>
void expectIs(const LinearLayout &layout, Function element) {
  SCOPED_TRACE(layout.toString());
  for (int64_t warp = 0; warp < layout.inputSize(Dim::Warp); ++warp)
    for (int64_t lane = 0; lane < layout.inputSize(Dim::Lane); ++lane)
      for (int64_t reg = 0; reg < layout.inputSize(Dim::Register); ++reg)
        ASSERT_EQ(layout.apply({{Dim::Register, reg}, {Dim::Lane, lane}, {Dim::Warp, warp}}), element(reg, lane, warp))
            << "register " << reg << " lane " << lane << " warp " << warp;
}

int64_t product(const Shape &sizes) {
  int64_t all = 1;
  for (int64_t size : sizes)
    all *= size;
  return all;
}

} // namespace

TEST(LayoutEncodings, blocked_is_the_modulo_definition) {
  // A thread's piece, the threads, the warps, and their repetition; each numbered along the order.
  auto check = [](const Shape &shape, const Shape &size, const Shape &lanes, const Shape &warps, const Order &order) {
    LinearLayout layout = blocked(shape, size, lanes, warps, order);
    expectCovers(layout, shape, product(lanes), product(warps));
    auto digit = [&](int64_t &number, int64_t base) {
      int64_t value = number % base;
      number /= base;
      return value;
    };
    for (size_t axis = 0; axis < shape.size(); ++axis)
      if (shape[axis] < size[axis])
        return; // registers are left out there
    expectIs(layout, [&](int64_t reg, int64_t lane, int64_t warp) {
      Element element(shape.size());
      for (int axis : order)
        element[axis] +=
            digit(reg, size[axis]) + size[axis] * (digit(lane, lanes[axis]) + lanes[axis] * digit(warp, warps[axis]));
      for (int axis : order) {
        int64_t block = size[axis] * lanes[axis] * warps[axis];
        if (block < shape[axis])
          element[axis] += block * digit(reg, shape[axis] / block);
        element[axis] %= shape[axis];
      }
      return element;
    });
  };
  for (int64_t rows = 1; rows <= 128; rows *= 4)
    for (int64_t columns = 1; columns <= 128; columns *= 2)
      for (const Order &order : {Order{1, 0}, Order{0, 1}}) {
        check({rows, columns}, {1, 4}, {4, 8}, {2, 2}, order);
        check({rows, columns}, {2, 2}, {32, 2}, {4, 1}, order);
      }
  check({4, 8, 16}, {1, 2, 2}, {2, 4, 4}, {2, 1, 2}, {2, 0, 1});
  check({256}, {4}, {32}, {4}, {0});
  check({8}, {4}, {32}, {4}, {0});
}

TEST(LayoutEncodings, default_blocked) {
  EXPECT_EQ(defaultBlocked({16, 64}, {1, 4}, {1, 0}, 32, 4), blocked({16, 64}, {1, 4}, {2, 16}, {4, 1}, {1, 0}));
  EXPECT_EQ(defaultBlocked({16, 256}, {1, 1}, {1, 0}, 32, 4), blocked({16, 256}, {1, 1}, {1, 32}, {1, 4}, {1, 0}));
  EXPECT_EQ(defaultBlocked({64, 4}, {1, 8}, {1, 0}, 64, 8), blocked({64, 4}, {1, 8}, {64, 1}, {8, 1}, {1, 0}));
  EXPECT_EQ(defaultBlocked({8, 4, 2}, {1, 1, 1}, {2, 1, 0}, 32, 4),
            blocked({8, 4, 2}, {1, 1, 1}, {4, 4, 2}, {4, 1, 1}, {2, 1, 0}));
  for (int64_t rows = 1; rows <= 128; rows *= 2)
    for (int64_t columns = 1; columns <= 128; columns *= 2)
      for (const Order &order : {Order{1, 0}, Order{0, 1}})
        expectCovers(defaultBlocked({rows, columns}, {1, 2}, order, 64, 4), {rows, columns}, 64, 4);
  expectCovers(defaultBlocked({}, {}, {}, 32, 4), {}, 32, 4);
}

TEST(LayoutEncodings, everything_is_covered) {
  for (int64_t m = 1; m <= 256; m *= 4)
    for (int64_t n = 1; n <= 256; n *= 2)
      for (const Shape &warps : {Shape{1, 1}, Shape{4, 1}, Shape{4, 2}, Shape{8, 1}}) {
        Shape shape = {m, n};
        expectCovers(mmaAccumulator(shape, warps), shape, 32, product(warps));
        for (int operand : {0, 1}) {
          expectCovers(mmaOperand(shape, warps, operand, 2), shape, 32, product(warps));
          expectCovers(mfmaOperand(shape, warps, operand, 8, 16, 16), shape, 64, product(warps));
          expectCovers(mfmaOperand(shape, warps, operand, 4, 4, 64), shape, 64, product(warps));
        }
        for (bool transposed : {false, true}) {
          expectCovers(mfmaAccumulator(shape, warps, 32, 32, transposed), shape, 64, product(warps));
          expectCovers(mfmaAccumulator(shape, warps, 16, 16, transposed, 64, {2, 2}), shape, 64, product(warps));
          expectCovers(mfmaAccumulator(shape, warps, transposed ? 64 : 4, transposed ? 4 : 64, transposed), shape, 64,
                       product(warps));
        }
        if (warps[0] % 4 == 0) {
          expectCovers(wgmmaAccumulator(shape, warps, 32), shape, 32, product(warps));
          expectCovers(wgmmaOperand(shape, warps, 2), shape, 32, product(warps));
        }
      }
  const Shape batches = {4, 32, 64}, warps = {2, 2, 2};
  expectCovers(mmaAccumulator(batches, warps), batches, 32, 8);
  expectCovers(mmaOperand(batches, warps, 0, 4), batches, 32, 8);
  expectCovers(mmaOperand(batches, warps, 1, 4), batches, 32, 8);
  expectCovers(mfmaAccumulator(batches, warps, 16, 16, true), batches, 64, 8);
  expectCovers(mfmaOperand(batches, warps, 1, 4, 16, 16), batches, 64, 8);
}

// PTX ISA, matrix fragments: group = lane / 4, thread = lane % 4.

TEST(LayoutEncodings, mma_accumulator_of_ptx) {
  expectIs(mmaAccumulator({16, 8}, {1, 1}), [](int64_t i, int64_t lane, int64_t) {
    return Element{i < 2 ? lane / 4 : lane / 4 + 8, lane % 4 * 2 + (i & 1)};
  });
  // Warps count along N first; so do the instruction tiles of a warp.
  expectIs(mmaAccumulator({128, 64}, {4, 2}), [](int64_t reg, int64_t lane, int64_t warp) {
    int64_t i = reg % 4, tile = reg / 4, tilesN = 64 / (8 * 2);
    return Element{(tile / tilesN * 4 + warp / 2) * 16 + lane / 4 + i / 2 * 8,
                   (tile % tilesN * 2 + warp % 2) * 8 + lane % 4 * 2 + i % 2};
  });
}

TEST(LayoutEncodings, mma_operands_of_ptx) {
  expectIs(mmaOperand({16, 16}, {1, 1}, 0, 2), [](int64_t i, int64_t lane, int64_t) { // m16n8k16, 16 bits, A
    return Element{(i < 2 || (4 <= i && i < 6)) ? lane / 4 : lane / 4 + 8, lane % 4 * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
  });
  expectIs(mmaOperand({16, 8}, {1, 1}, 1, 2), [](int64_t i, int64_t lane, int64_t) { // B
    return Element{lane % 4 * 2 + (i & 1) + (i >= 2 ? 8 : 0), lane / 4};
  });
  expectIs(mmaOperand({16, 8}, {1, 1}, 0, 1), [](int64_t i, int64_t lane, int64_t) { // m16n8k8, tf32, A
    return Element{(i == 0 || i == 2) ? lane / 4 : lane / 4 + 8, i < 2 ? lane % 4 : lane % 4 + 4};
  });
  expectIs(mmaOperand({8, 8}, {1, 1}, 1, 1), [](int64_t i, int64_t lane, int64_t) { // B
    return Element{i == 0 ? lane % 4 : lane % 4 + 4, lane / 4};
  });
  expectIs(mmaOperand({16, 32}, {1, 1}, 0, 4), [](int64_t i, int64_t lane, int64_t) { // m16n8k32, 8 bits, A
    return Element{(i < 4 || (8 <= i && i < 12)) ? lane / 4 : lane / 4 + 8, lane % 4 * 4 + (i & 3) + (i >= 8 ? 16 : 0)};
  });
  expectIs(mmaOperand({32, 8}, {1, 1}, 1, 4), [](int64_t i, int64_t lane, int64_t) { // B
    return Element{lane % 4 * 4 + (i & 3) + (i >= 4 ? 16 : 0), lane / 4};
  });
  // Several warps and tiles: K first, then M or N; warps along the other axis hold copies.
  expectIs(mmaOperand({64, 64}, {2, 4}, 0, 2), [](int64_t reg, int64_t lane, int64_t warp) {
    int64_t i = reg % 8, tile = reg / 8;
    return Element{(tile / 4 * 2 + warp / 4) * 16 + lane / 4 + i / 2 % 2 * 8,
                   tile % 4 * 16 + lane % 4 * 2 + i % 2 + i / 4 * 8};
  });
  expectIs(mmaOperand({64, 64}, {2, 4}, 1, 2), [](int64_t reg, int64_t lane, int64_t warp) {
    int64_t i = reg % 4, tile = reg / 4;
    return Element{tile % 4 * 16 + lane % 4 * 2 + i % 2 + i / 2 * 8, (tile / 4 * 4 + warp % 4) * 8 + lane / 4};
  });
}

TEST(LayoutEncodings, wgmma_of_ptx) {
  auto row = [](int64_t i, int64_t lane, int64_t warp) { return warp % 4 * 16 + lane / 4 + (i % 4 < 2 ? 0 : 8); };
  expectIs(wgmmaAccumulator({64, 128}, {4, 1}, 128), [&](int64_t i, int64_t lane, int64_t warp) {
    return Element{row(i, lane, warp), i / 4 * 8 + lane % 4 * 2 + (i & 1)};
  });
  // Two groups of warps down the rows, two instructions along N and two along M.
  expectIs(wgmmaAccumulator({256, 128}, {8, 1}, 64), [&](int64_t reg, int64_t lane, int64_t warp) {
    int64_t i = reg % 32, tile = reg / 32;
    return Element{tile / 2 * 128 + warp / 4 * 64 + row(i, lane, warp),
                   tile % 2 * 64 + i / 4 * 8 + lane % 4 * 2 + (i & 1)};
  });
  // Two groups of warps along N.
  expectIs(wgmmaAccumulator({64, 128}, {4, 2}, 64), [&](int64_t i, int64_t lane, int64_t warp) {
    return Element{row(i, lane, warp), warp / 4 * 64 + i / 4 * 8 + lane % 4 * 2 + (i & 1)};
  });
  // Warps along N alone: a layout that tiles are converted to and from, which no instruction leaves.
  expectIs(wgmmaAccumulator({32, 128}, {1, 4}, 32), [&](int64_t reg, int64_t lane, int64_t warp) {
    int64_t i = reg % 16;
    return Element{reg / 16 * 16 + row(i, lane, 0), warp * 32 + i / 4 * 8 + lane % 4 * 2 + (i & 1)};
  });
  expectIs(wgmmaOperand({64, 32}, {4, 2}, 2), [&](int64_t reg, int64_t lane, int64_t warp) { // m64k16, 16 bits, A
    int64_t i = reg % 8;
    return Element{row(i, lane, warp), reg / 8 * 16 + lane % 4 * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
  });
  // The accumulator of one is the operand of the next.
  EXPECT_EQ(wgmmaAccumulator({128, 64}, {8, 1}, 64), wgmmaOperand({128, 64}, {8, 1}, 2));
}

// The layouts of Triton 3.9's `nvidia_mma` and `dot_op`, as its own lowering prints them: bases of registers and warps;
// the lanes of each kind are the same. Registers that repeat others are left out here: of a tile narrower than the
// instruction.
TEST(LayoutEncodings, tables_of_triton) {
  struct Row {
    LinearLayout layout;
    Bases registers, warps;
  };
  for (const Row &row : std::vector<Row>{
           {mmaAccumulator({32, 32}, {2, 2}), {{0, 1}, {8, 0}, {0, 16}}, {{0, 8}, {16, 0}}},
           {mmaAccumulator({128, 16}, {4, 1}), {{0, 1}, {8, 0}, {0, 8}, {64, 0}}, {{16, 0}, {32, 0}}},
           {mmaAccumulator({16, 32}, {1, 4}), {{0, 1}, {8, 0}}, {{0, 8}, {0, 16}}},
           {mmaAccumulator({4, 32, 32}, {1, 2, 2}),
            {{0, 0, 1}, {0, 8, 0}, {0, 0, 16}, {1, 0, 0}, {2, 0, 0}},
            {{0, 0, 8}, {0, 16, 0}}},
           {wgmmaAccumulator({64, 64}, {4, 1}, 64), {{0, 1}, {8, 0}, {0, 8}, {0, 16}, {0, 32}}, {{16, 0}, {32, 0}}},
           {wgmmaAccumulator({128, 64}, {8, 1}, 64),
            {{0, 1}, {8, 0}, {0, 8}, {0, 16}, {0, 32}},
            {{16, 0}, {32, 0}, {64, 0}}},
           {wgmmaAccumulator({64, 128}, {4, 2}, 64),
            {{0, 1}, {8, 0}, {0, 8}, {0, 16}, {0, 32}},
            {{16, 0}, {32, 0}, {0, 64}}},
           {wgmmaAccumulator({128, 128}, {4, 1}, 64),
            {{0, 1}, {8, 0}, {0, 8}, {0, 16}, {0, 32}, {0, 64}, {64, 0}},
            {{16, 0}, {32, 0}}},
           {wgmmaAccumulator({32, 32}, {4, 1}, 64), {{0, 1}, {8, 0}, {0, 8}, {0, 16}}, {{16, 0}, {0, 0}}}}) {
    EXPECT_EQ(basesOf(row.layout, Dim::Register), row.registers);
    EXPECT_EQ(basesOf(row.layout, Dim::Warp), row.warps);
  }
  struct Operand {
    LinearLayout layout;
    Bases registers, lanes, warps;
  };
  const Bases a2 = {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}, a4 = {{0, 4}, {0, 8}, {1, 0}, {2, 0}, {4, 0}},
              a1 = {{0, 1}, {0, 2}, {1, 0}, {2, 0}, {4, 0}}, two = {{0, 0}, {16, 0}}, rows = {{16, 0}, {32, 0}};
  for (const Operand &row :
       std::vector<Operand>{{mmaOperand({32, 32}, {2, 2}, 0, 2), {{0, 1}, {8, 0}, {0, 8}, {0, 16}}, a2, two},
                            {mmaOperand({32, 32}, {2, 2}, 1, 2),
                             {{1, 0}, {8, 0}, {16, 0}, {0, 16}},
                             {{2, 0}, {4, 0}, {0, 1}, {0, 2}, {0, 4}},
                             {{0, 8}, {0, 0}}},
                            {mmaOperand({32, 64}, {2, 2}, 0, 4), {{0, 1}, {0, 2}, {8, 0}, {0, 16}, {0, 32}}, a4, two},
                            {mmaOperand({64, 32}, {2, 2}, 1, 4),
                             {{1, 0}, {2, 0}, {16, 0}, {32, 0}, {0, 16}},
                             {{4, 0}, {8, 0}, {0, 1}, {0, 2}, {0, 4}},
                             {{0, 8}, {0, 0}}},
                            {mmaOperand({32, 16}, {2, 2}, 0, 1), {{8, 0}, {0, 4}, {0, 8}}, a1, two},
                            {mmaOperand({16, 32}, {2, 2}, 1, 1),
                             {{4, 0}, {8, 0}, {0, 16}},
                             {{1, 0}, {2, 0}, {0, 1}, {0, 2}, {0, 4}},
                             {{0, 8}, {0, 0}}},
                            {mmaOperand({32, 64}, {2, 2}, 0, 8),
                             {{0, 1}, {0, 2}, {0, 4}, {8, 0}, {0, 32}},
                             {{0, 8}, {0, 16}, {1, 0}, {2, 0}, {4, 0}},
                             two},
                            {wgmmaOperand({64, 32}, {4, 1}, 2), {{0, 1}, {8, 0}, {0, 8}, {0, 16}}, a2, rows},
                            {wgmmaOperand({64, 64}, {4, 1}, 4), {{0, 1}, {0, 2}, {8, 0}, {0, 16}, {0, 32}}, a4, rows},
                            {wgmmaOperand({64, 16}, {4, 1}, 1), {{8, 0}, {0, 4}, {0, 8}}, a1, rows}}) {
    EXPECT_EQ(basesOf(row.layout, Dim::Register), row.registers);
    EXPECT_EQ(basesOf(row.layout, Dim::Lane), row.lanes);
    EXPECT_EQ(basesOf(row.layout, Dim::Warp), row.warps);
  }
}

// CDNA 3 and 4, matrix instructions: which row i, column j or k an item of a lane is.

TEST(LayoutEncodings, mfma_results_of_cdna) {
  auto rows = [](int64_t m, int64_t n, int bits) { return mfmaAccumulator({m, n}, {1, 1}, m, n, false, bits); };
  expectIs(rows(32, 32, 32), [](int64_t item, int64_t lane, int64_t) {
    return Element{8 * (item / 4) + 4 * (lane / 32) + item % 4, lane % 32};
  });
  expectIs(rows(16, 16, 32),
           [](int64_t item, int64_t lane, int64_t) { return Element{4 * (lane / 16) + item, lane % 16}; });
  expectIs(rows(16, 16, 64),
           [](int64_t item, int64_t lane, int64_t) { return Element{lane / 16 + 4 * item, lane % 16}; });
  expectIs(rows(4, 64, 32), [](int64_t item, int64_t lane, int64_t) { return Element{item, lane}; });
  // Transposed: the operands are swapped, and so do rows and columns of the result.
  for (auto [m, n] : {std::pair<int64_t, int64_t>{32, 32}, {16, 16}, {64, 4}}) {
    LinearLayout plain = mfmaAccumulator({n, m}, {1, 1}, n, m, false);
    expectIs(mfmaAccumulator({m, n}, {1, 1}, m, n, true), [&](int64_t item, int64_t lane, int64_t) {
      Element element = plain.apply({{Dim::Register, item}, {Dim::Lane, lane}});
      return Element{element[1], element[0]};
    });
  }
  EXPECT_EQ(errorOf([] { mfmaAccumulator({64, 4}, {1, 1}, 64, 4, false); }).kind, ErrorClass::Internal);
  EXPECT_EQ(errorOf([] { mfmaAccumulator({4, 64}, {1, 1}, 4, 64, true); }).kind, ErrorClass::Internal);
}

TEST(LayoutEncodings, mfma_tiles_of_a_wave) {
  expectIs(mfmaAccumulator({256, 128}, {2, 2}, 32, 32, false, 32, {2, 1}), [](int64_t reg, int64_t lane, int64_t warp) {
    int64_t item = reg % 16, tileN = reg / 16 % 2, tileM = reg / 32 % 2, repeatM = reg / 64;
    return Element{128 * repeatM + 64 * (warp / 2) + 32 * tileM + 8 * (item / 4) + 4 * (lane / 32) + item % 4,
                   64 * tileN + 32 * (warp % 2) + lane % 32};
  });
}

TEST(LayoutEncodings, mfma_scales_of_cdna) {
  expectIs(mfmaScale({64, 8}, {2, 2}, 0, 16), [](int64_t reg, int64_t lane, int64_t warp) { // 16x16x128, of A
    return Element{lane % 16 + 16 * (warp / 2) + 32 * (reg / 2), lane / 16 + 4 * (reg % 2)};
  });
  expectIs(mfmaScale({128, 4}, {2, 2}, 1, 32, {1, 2}), [](int64_t reg, int64_t lane, int64_t warp) { // 32x32x64, of B
    return Element{lane % 32 + 32 * (reg / 2) + 64 * (warp % 2), lane / 32 + 2 * (reg % 2)};
  });
  Shape batches = {4, 32, 4}, warps = {2, 1, 2};
  expectCovers(mfmaScale(batches, warps, 1, 16), batches, 64, 4);
}

TEST(LayoutEncodings, mfma_operands_of_cdna) {
  expectIs(mfmaOperand({32, 8}, {1, 1}, 0, 4, 32, 32), [](int64_t item, int64_t lane, int64_t) { // 32x32x8, A
    return Element{lane % 32, 4 * (lane / 32) + item};
  });
  expectIs(mfmaOperand({8, 32}, {1, 1}, 1, 4, 32, 32), [](int64_t item, int64_t lane, int64_t) { // B
    return Element{4 * (lane / 32) + item, lane % 32};
  });
  expectIs(mfmaOperand({16, 32}, {1, 1}, 0, 8, 16, 16), [](int64_t item, int64_t lane, int64_t) { // 16x16x32, A
    return Element{lane % 16, 8 * (lane / 16) + item};
  });
  expectIs(mfmaOperand({64, 64}, {2, 2}, 1, 4, 16, 16), [](int64_t reg, int64_t lane, int64_t warp) {
    return Element{16 * (reg / 4 % 4) + 4 * (lane / 16) + reg % 4, 32 * (reg / 16) + 16 * (warp % 2) + lane % 16};
  });
  // A chained product: the transposed result is the next one's operand.
  EXPECT_EQ(mfmaAccumulator({64, 32}, {2, 1}, 32, 32, true), mfmaOperand({64, 32}, {2, 1}, 0, 4, 32, 32));
}

TEST(LayoutEncodings, broken_preconditions_are_internal_errors) {
  auto internal = [](auto action) { return errorOf(action).kind == ErrorClass::Internal; };
  EXPECT_TRUE(internal([] { blocked({16, 24}, {1, 1}, {4, 8}, {1, 1}, {1, 0}); }));
  EXPECT_TRUE(internal([] { blocked({16, 16}, {1}, {4, 8}, {1, 1}, {1, 0}); }));
  EXPECT_TRUE(internal([] { blocked({16, 16}, {1, 1}, {4, 8}, {1, 1}, {1}); }));
  EXPECT_TRUE(internal([] { blocked({16, 16}, {1, 1}, {4, 8}, {1, 1}, {1, 1}); }));
  EXPECT_TRUE(internal([] { blocked({16, 16}, {1, 1}, {4, 8}, {1, 1}, {1, 2}); }));
  EXPECT_TRUE(internal([] { defaultBlocked({16, 16}, {1, 1}, {1, 2}, 32, 1); }));
  EXPECT_TRUE(internal([] { defaultBlocked({16, 16}, {1, 3}, {1, 0}, 32, 1); }));
  EXPECT_TRUE(internal([] { mmaAccumulator({16}, {1}); }));
  EXPECT_TRUE(internal([] { mmaAccumulator({16, 8}, {1}); }));
  EXPECT_TRUE(internal([] { mmaOperand({16, 8}, {1, 1, 1}, 0, 2); }));
  EXPECT_TRUE(internal([] { wgmmaAccumulator({64, 64}, {4}, 64); }));
  EXPECT_TRUE(internal([] { wgmmaAccumulator({64, 64}, {4, 1}, 96); }));
  EXPECT_TRUE(internal([] { mfmaAccumulator({32, 32}, {1, 1}, 8, 8, false); }));
  EXPECT_TRUE(internal([] { mfmaOperand({32, 32}, {1}, 0, 4, 16, 16); }));
}
