// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scratch layouts: no conflict is counted on either side, for pairs of all families of register layouts, element widths
// and numbers of banks; a tile that goes through comes out right; and the counter itself against accesses that are
// known.
#include "compiler/layout/Swizzle.h"
#include "compiler/layout/Encodings.h"
#include "compiler/layout/TestLayout.h"
#include "support/TestError.h"
#include <algorithm>
#include <set>

using namespace heddle;
using namespace heddle::layout;

namespace {

/// (register, lane, warp) -> (offset, piece), with the registers of a vector first.
LinearLayout accessOf(const LinearLayout &side, const ScratchLayout &scratch, int64_t vectorElements) {
  LinearLayout access = side.flattenOutputs(Dim::Dim0).compose(scratch.layout.pseudoinvert());
  std::vector<LinearLayout::Input> inputs = access.inputs();
  auto &bases = inputs[0].bases;
  for (int64_t at = 0; int64_t(1) << at < vectorElements; ++at)
    std::swap(bases[at], *std::find(bases.begin() + at, bases.end(), std::vector<int64_t>{int64_t(1) << at, 0}));
  return LinearLayout(inputs, access.outputs());
}

/// The registers that follow each other in memory first, as far as there are any.
LinearLayout widestAccess(const LinearLayout &access) {
  std::vector<LinearLayout::Input> inputs = access.inputs();
  auto &bases = inputs[0].bases;
  for (size_t at = 0; at < bases.size(); ++at) {
    auto found = std::find(bases.begin() + long(at), bases.end(), std::vector<int64_t>{int64_t(1) << at, 0});
    if (found == bases.end())
      break;
    std::swap(bases[at], *found);
  }
  return LinearLayout(inputs, access.outputs());
}

void expectNoConflicts(const LinearLayout &from, const LinearLayout &to, int elementBits, int banks) {
  SCOPED_TRACE("from\n" + from.toString() + "to\n" + to.toString() + std::to_string(elementBits) + " bits, " +
               std::to_string(banks) + " banks");
  ScratchLayout scratch = chooseScratch(from, to, elementBits, banks);
  EXPECT_TRUE(scratch.layout.isInvertible());
  EXPECT_EQ(scratch.offsets() * scratch.repetitions(), int64_t(1) << from.totalOutputBits());
  EXPECT_LE(std::max(scratch.writeElements, scratch.readElements) * elementBits, 128);
  for (bool writes : {true, false}) {
    int64_t elements = writes ? scratch.writeElements : scratch.readElements;
    LinearLayout access = accessOf(writes ? from : to, scratch, elements);
    EXPECT_GE(access.consecutive(), elements);
    EXPECT_TRUE(access.sublayoutIsZero({Dim::Lane, Dim::Warp}, {Dim::Register}));
    EXPECT_EQ(countConflicts(access, elementBits, elements, banks), 0);
    LinearLayout widest = widestAccess(access);
    EXPECT_EQ(countConflicts(widest, elementBits, std::min<int64_t>(widest.consecutive(), 128 / elementBits), banks),
              0);
    if (testing::Test::HasFailure())
      return;
  }
}

std::vector<LinearLayout> nvidiaFamily(const Shape &shape) {
  return {
      blocked(shape, {1, 8}, {2, 16}, {4, 1}, {1, 0}),
      blocked(shape, {8, 1}, {16, 2}, {1, 4}, {0, 1}),
      blocked(shape, {1, 1}, {1, 32}, {4, 1}, {1, 0}),
      blocked(shape, {2, 2}, {8, 4}, {2, 2}, {0, 1}),
      defaultBlocked(shape, {1, 4}, {1, 0}, 32, 4),
      mmaAccumulator(shape, {2, 2}),
      wgmmaAccumulator(shape, {4, 1}, shape[1]),
      mmaOperand(shape, {2, 2}, 0, 2),
      mmaOperand(shape, {2, 2}, 1, 4),
  };
}

std::vector<LinearLayout> amdFamily(const Shape &shape) {
  return {
      blocked(shape, {1, 8}, {4, 16}, {4, 1}, {1, 0}), blocked(shape, {4, 1}, {16, 4}, {1, 4}, {0, 1}),
      mfmaAccumulator(shape, {2, 2}, 32, 32, false),   mfmaAccumulator(shape, {2, 2}, 32, 32, true),
      mfmaAccumulator(shape, {4, 1}, 16, 16, true),    mfmaOperand(shape, {2, 2}, 0, 8, 32, 32),
      mfmaOperand(shape, {2, 2}, 1, 4, 16, 16),
  };
}

void expectFamilyWithoutConflicts(const std::vector<LinearLayout> &family) {
  for (const LinearLayout &from : family)
    for (const LinearLayout &to : family)
      for (int elementBits : {8, 16, 32, 64})
        for (int banks : {32, 64})
          if (!testing::Test::HasFailure())
            expectNoConflicts(from, to, elementBits, banks);
}

/// A transposition between two blocked layouts of 128x128, flat indices row-major.
struct Transposition {
  explicit Transposition(int64_t elements) {
    int64_t across = std::min<int64_t>(32, 128 / elements), along = 32 / across;
    from = blocked({128, 128}, {1, elements}, {along, across}, {4, 1}, {1, 0}).transposeOutputs({Dim::Dim1, Dim::Dim0});
    to = blocked({128, 128}, {elements, 1}, {across, along}, {1, 4}, {0, 1}).transposeOutputs({Dim::Dim1, Dim::Dim0});
  }
  LinearLayout from, to;
};

std::vector<int64_t> sortedOffsets(const ScratchLayout &scratch, int first, int last) {
  std::vector<int64_t> values;
  for (int bit = first; bit < last; ++bit)
    values.push_back(scratch.layout.basis(Dim::Offset, bit, Dim::Dim0));
  std::sort(values.begin(), values.end());
  return values;
}

} // namespace

TEST(LayoutSwizzle, worked_examples) {
  Transposition eight(8), four(4);
  // Words of contiguous elements along the columns, which one side reads several at a time.
  ScratchLayout f16 = chooseScratch(eight.from, eight.to, 16);
  EXPECT_EQ(sortedOffsets(f16, 0, 2), (std::vector<int64_t>{128, 256}));
  EXPECT_EQ(f16.writeElements, 1);
  EXPECT_EQ(f16.readElements, 4);
  ScratchLayout f8 = chooseScratch(eight.from, eight.to, 8);
  EXPECT_EQ(sortedOffsets(f8, 0, 4), (std::vector<int64_t>{8, 128, 256, 512}));
  EXPECT_EQ(f8.writeElements, 1);
  EXPECT_EQ(f8.readElements, 16);
  ScratchLayout f32 = chooseScratch(four.from, four.to, 32);
  EXPECT_EQ(sortedOffsets(f32, 5, 14), (std::vector<int64_t>{1, 2, 128, 256, 516, 1032, 2064, 4128, 8256}));
  EXPECT_EQ(f32.writeElements, 1);
  EXPECT_EQ(f32.readElements, 1);
  expectNoConflicts(eight.from, eight.to, 16, 32);
  expectNoConflicts(eight.from, eight.to, 8, 32);
  expectNoConflicts(four.from, four.to, 32, 32);
}

TEST(LayoutSwizzle, the_side_with_more_accesses_has_wide_ones) {
  // Rows of a tile go to a matrix product along columns: every warp reads all that four of them wrote together.
  LinearLayout loaded = blocked({64, 64}, {1, 8}, {8, 8}, {4, 1}, {1, 0});
  LinearLayout operand = mfmaOperand({64, 64}, {4, 1}, 1, 8, 16, 16);
  ScratchLayout scratch = chooseScratch(loaded, operand, 16);
  EXPECT_EQ(scratch.writeElements, 1);
  EXPECT_EQ(scratch.readElements, 8);
  expectNoConflicts(loaded, operand, 16, 32);
  ScratchLayout back = chooseScratch(operand, loaded, 16);
  EXPECT_EQ(back.writeElements, 8);
  EXPECT_EQ(back.readElements, 1);
  expectNoConflicts(operand, loaded, 16, 32);
  // No more pieces than with what both sides have in common, each of which takes two barriers.
  LinearLayout rows = mfmaOperand({64, 64}, {4, 1}, 0, 8, 16, 16);
  EXPECT_EQ(chooseScratch(loaded, rows, 16).writeElements, 8);
  EXPECT_EQ(chooseScratch(loaded, rows, 16).repetitions(), 1);
}

TEST(LayoutSwizzle, nvidia_pairs) {
  expectFamilyWithoutConflicts(nvidiaFamily({128, 64}));
  expectFamilyWithoutConflicts(nvidiaFamily({64, 16}));
  expectFamilyWithoutConflicts(nvidiaFamily({16, 8})); // less than a warp's worth: copies
}

TEST(LayoutSwizzle, amd_pairs) {
  expectFamilyWithoutConflicts(amdFamily({64, 128}));
  expectFamilyWithoutConflicts(amdFamily({32, 32}));
}

TEST(LayoutSwizzle, random_permutations) {
  std::mt19937 random(16);
  for (int round = 0; round < 400 && !HasFailure(); ++round) {
    int tileBits = 1 + int(random() % 12), elementBits = 8 << random() % 4, banks = 32 << random() % 2;
    auto side = [&] {
      std::vector<std::vector<int64_t>> bases;
      for (int bit = 0; bit < 11; ++bit)
        bases.push_back({bit < tileBits ? int64_t(1) << bit : 0});
      if (tileBits > 11)
        bases.push_back({int64_t(1) << 11});
      std::shuffle(bases.begin(), bases.end(), random);
      auto lanes = bases.end() - 5, warps = lanes - 2;
      return LinearLayout(
          {{Dim::Register, {bases.begin(), warps}}, {Dim::Lane, {lanes, bases.end()}}, {Dim::Warp, {warps, lanes}}},
          {{Dim::Dim0, int64_t(1) << tileBits}});
    };
    expectNoConflicts(side(), side(), elementBits, banks);
  }
}

TEST(LayoutSwizzle, random_sums) {
  std::mt19937 random(17);
  for (int round = 0; round < 400 && !HasFailure(); ++round) {
    int elementBits = 8 << random() % 4, banks = 32 << random() % 2;
    auto side = [&] {
      std::vector<std::vector<int64_t>> bases(10);
      LinearLayout layout;
      do {
        for (auto &basis : bases)
          basis = {int64_t(random() % 1024)};
        layout = LinearLayout({{Dim::Register, {bases.begin(), bases.begin() + 3}},
                               {Dim::Lane, {bases.begin() + 3, bases.begin() + 8}},
                               {Dim::Warp, {bases.begin() + 8, bases.end()}}},
                              {{Dim::Dim0, 1024}});
      } while (!layout.isSurjective());
      return layout;
    };
    LinearLayout from = side(), to = side();
    ScratchLayout scratch = chooseScratch(from, to, elementBits, banks);
    EXPECT_TRUE(scratch.layout.isInvertible());
    LinearLayout inverse = scratch.layout.pseudoinvert();
    for (const LinearLayout &each : {from, to}) {
      LinearLayout access = each.compose(inverse);
      EXPECT_TRUE(access.sublayoutIsZero({Dim::Lane, Dim::Warp}, {Dim::Register}));
      if (scratch.writeElements == 1 && scratch.readElements == 1)
        EXPECT_EQ(countConflicts(access, elementBits, 1, banks), 0);
    }
  }
}

TEST(LayoutSwizzle, a_tile_comes_through_piece_by_piece) {
  LinearLayout from = blocked({64, 64}, {1, 4}, {2, 16}, {2, 1}, {1, 0});
  LinearLayout to = blocked({64, 64}, {1, 4}, {16, 2}, {1, 2}, {1, 0});
  ScratchLayout scratch = chooseScratch(from, to, 32);
  EXPECT_EQ(scratch.writeElements, 4);
  EXPECT_EQ(scratch.readElements, 4);
  EXPECT_GT(scratch.repetitions(), 1);
  LinearLayout inverse = scratch.layout.pseudoinvert();
  LinearLayout store = from.flattenOutputs(Dim::Dim0).compose(inverse);
  LinearLayout load = to.flattenOutputs(Dim::Dim0).compose(inverse);
  std::set<int64_t> seen;
  for (int64_t piece = 0; piece < scratch.repetitions(); ++piece) {
    std::vector<int64_t> memory(scratch.offsets(), -1);
    for (const Coordinates &place : placesOf(store))
      if (std::vector<int64_t> at = store.apply(place); at[1] == piece)
        memory[at[0]] = from.applyFlat(place);
    for (const Coordinates &place : placesOf(load))
      if (std::vector<int64_t> at = load.apply(place); at[1] == piece) {
        ASSERT_EQ(memory[at[0]], to.applyFlat(place));
        seen.insert(memory[at[0]]);
      }
  }
  EXPECT_EQ(seen.size(), 64u * 64u);
}

TEST(LayoutSwizzle, lanes_that_change_the_piece_forbid_pieces) {
  Bases lanes = {{8}, {16}, {32}, {64}, {128}}, crossed = lanes;
  crossed[0] = {8 ^ 4};
  LinearLayout from({{Dim::Register, {{1}, {2}, {4}}}, {Dim::Lane, crossed}, {Dim::Warp, {}}}, {{Dim::Dim0, 256}});
  LinearLayout to({{Dim::Register, {{1}, {2}, {4}}}, {Dim::Lane, lanes}, {Dim::Warp, {}}}, {{Dim::Dim0, 256}});
  expectNoConflicts(from, to, 32, 32);
  EXPECT_EQ(chooseScratch(from, to, 32).repetitions(), 1);
  expectNoConflicts(to, to, 32, 32);
  EXPECT_EQ(chooseScratch(to, to, 32).repetitions(), 2);
}

TEST(LayoutSwizzle, counted_conflicts_of_known_accesses) {
  auto access = [](int64_t stride, int64_t vector) {
    return LinearLayout::identity1D(vector, Dim::Register, Dim::Offset) *
           LinearLayout::zeros1D(1, Dim::Lane, Dim::Offset, stride / vector) *
           LinearLayout::identity1D(32, Dim::Lane, Dim::Offset) * LinearLayout::identity1D(2, Dim::Warp, Dim::Offset);
  };
  EXPECT_EQ(countConflicts(access(1, 1), 32, 1), 0);
  EXPECT_EQ(countConflicts(access(2, 1), 32, 1), 1);
  EXPECT_EQ(countConflicts(access(32, 1), 32, 1), 31);
  EXPECT_EQ(countConflicts(access(32, 1), 32, 1, 64), 15);
  EXPECT_EQ(countConflicts(access(1, 1), 8, 1), 0); // four lanes read one word
  EXPECT_EQ(countConflicts(access(8, 1), 8, 1), 1);
  EXPECT_EQ(countConflicts(access(4, 4), 32, 4), 0); // eight lanes a transaction
  EXPECT_EQ(countConflicts(access(16, 4), 32, 4), 3);
  EXPECT_EQ(countConflicts(access(2, 1), 64, 1), 1);
  LinearLayout same = LinearLayout::zeros1D(1, Dim::Register, Dim::Offset) *
                      LinearLayout::zeros1D(32, Dim::Lane, Dim::Offset) *
                      LinearLayout::zeros1D(1, Dim::Warp, Dim::Offset);
  EXPECT_EQ(countConflicts(same, 32, 1), 0); // one word for all
}

TEST(LayoutSwizzle, broken_preconditions_are_internal_errors) {
  LinearLayout small = defaultBlocked({16}, {1}, {0}, 32, 1), large = defaultBlocked({32}, {1}, {0}, 32, 1);
  EXPECT_EQ(errorOf([&] { chooseScratch(small, large, 32); }).kind, ErrorClass::Internal);
  EXPECT_EQ(errorOf([&] { chooseScratch(small, small, 4); }).kind, ErrorClass::Internal);
  EXPECT_EQ(errorOf([&] { chooseScratch(small, small, 24); }).kind, ErrorClass::Internal);
}
