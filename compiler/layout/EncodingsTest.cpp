// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Constructors of register layouts: worked bases, coverage of the tile, plain definitions, and the formulas by which
// the manuals say where the fragments of matrix instructions are.
#include "compiler/layout/Encodings.h"
#include "compiler/layout/TestLayout.h"
#include "support/Error.h"

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
