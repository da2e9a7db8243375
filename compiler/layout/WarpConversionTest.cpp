// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversions within warps: what registers hold after the swaps and the move is what the result's layout says, of
// random layouts that differ in places of a warp; and those of matrix instructions take no memory.
#include "compiler/layout/WarpConversion.h"
#include "compiler/layout/Encodings.h"
#include "compiler/layout/RandomLayout.h"
#include <gtest/gtest.h>

using namespace heddle::layout;

namespace {

constexpr uint64_t rowsAndHalves = 16 | 32;

/// The element (flat) that each register of each lane holds, [register][lane].
using Held = std::vector<std::vector<int64_t>>;

Held heldBy(const LinearLayout &layout) {
  Held held;
  for (int64_t reg = 0; reg < layout.inputSize(Dim::Register); ++reg) {
    held.emplace_back();
    for (int64_t lane = 0; lane < layout.inputSize(Dim::Lane); ++lane)
      held.back().push_back(layout.applyFlat({{Dim::Register, reg}, {Dim::Lane, lane}}));
  }
  return held;
}

/// Does what a chip does.
Held convert(Held held, const WarpConversion &conversion) {
  for (WarpConversion::Swap swap : conversion.swaps) {
    size_t bit = size_t(1) << swap.registerBit, other = size_t(1) << swap.laneBit;
    for (size_t reg = 0; reg < held.size(); ++reg)
      for (size_t lane = 0; !(reg & bit) && lane < held[reg].size(); ++lane)
        if (lane & other)
          std::swap(held[reg][lane], held[reg | bit][lane ^ other]);
  }
  Held moved;
  for (int64_t reg = 0; reg < conversion.from.inputSize(Dim::Register); ++reg) {
    moved.emplace_back();
    for (int64_t lane = 0; lane < conversion.from.inputSize(Dim::Lane); ++lane) {
      Coordinates at;
      std::vector<int64_t> place = conversion.from.apply({{Dim::Register, reg}, {Dim::Lane, lane}});
      for (size_t k = 0; k < place.size(); ++k)
        at.push_back({conversion.from.outputs()[k].dim, place[k]});
      int64_t fromReg = 0, fromLane = 0;
      for (auto [dim, value] : at) {
        fromReg = dim == Dim::Register ? value : fromReg;
        fromLane = dim == Dim::Lane ? value : fromLane;
      }
      EXPECT_TRUE(conversion.shuffles || fromLane == lane);
      moved.back().push_back(held[size_t(fromReg)][size_t(fromLane)]);
    }
  }
  return moved;
}

/// 64 lanes, 8 registers, in which the bits of an element's number lie as `order` says: registers first.
LinearLayout ofBits(const std::vector<int> &order, size_t registers) {
  std::vector<LinearLayout::Input> inputs = {{Dim::Register, {}}, {Dim::Lane, {}}, {Dim::Warp, {}}};
  for (size_t i = 0; i < order.size(); ++i)
    inputs[i < registers ? 0 : 1].bases.push_back({int64_t(1) << order[i]});
  return LinearLayout(inputs, {{Dim::Dim0, int64_t(1) << order.size()}});
}

TEST(WarpConversion, gives_what_the_result_says) {
  Random random(7);
  int swapping = 0, refused = 0, several = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<int> order = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    std::shuffle(order.begin(), order.end(), random);
    std::vector<int> other = order;
    // Places 0 to 2 are registers, 7 and 8 the lane bits that swap; others are swapped sometimes.
    std::vector<size_t> open = {0, 1, 2, 7, 8};
    if (round % 4 == 0)
      open.push_back(3 + random() % 4);
    for (int step = 0; step < 4; ++step)
      std::swap(other[open[random() % open.size()]], other[open[random() % open.size()]]);
    LinearLayout source = ofBits(order, 3), result = ofBits(other, 3);
    auto conversion = convertInWarp(source, result, rowsAndHalves);
    auto without = convertInWarp(source, result, 0);
    if (!conversion) {
      EXPECT_FALSE(without);
      ++refused;
      continue;
    }
    EXPECT_EQ(without.has_value(), conversion->swaps.empty());
    swapping += !conversion->swaps.empty();
    several += conversion->swaps.size() > 1;
    EXPECT_EQ(convert(heldBy(source), *conversion), heldBy(result));
  }
  EXPECT_GT(swapping, 1000);
  EXPECT_GT(several, 300);
  EXPECT_GT(refused, 100);
  EXPECT_LT(refused, 1500);
}

TEST(WarpConversion, results_with_copies) {
  Random random(11);
  int swapping = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<int> order = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    std::vector<int> other = order;
    std::swap(other[random() % 3], other[7 + random() % 2]);
    LinearLayout source = ofBits(order, 3), result = ofBits(other, 3);
    // A register bit of the result that adds nothing, at any place.
    std::vector<LinearLayout::Input> inputs = result.inputs();
    inputs[0].bases.insert(inputs[0].bases.begin() + long(random() % 4), {int64_t(0)});
    result = LinearLayout(inputs, result.outputs());
    auto conversion = convertInWarp(source, result, rowsAndHalves);
    ASSERT_TRUE(conversion);
    swapping += !conversion->swaps.empty();
    EXPECT_EQ(convert(heldBy(source), *conversion), heldBy(result));
  }
  EXPECT_EQ(swapping, 400);
}

/// Bases of the source and of the result are sums of others, zero, or the same twice: what is converted is right.
TEST(WarpConversion, of_any_bases) {
  Random random(13);
  int swapping = 0;
  for (int round = 0; round < 4000; ++round) {
    std::vector<int> order = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    std::vector<int> other = order;
    for (int step = 0; step < 2; ++step)
      std::swap(other[random() % 3], other[random() % 2 ? 7 + random() % 2 : random() % 3]);
    auto change = [&](const LinearLayout &layout) {
      std::vector<LinearLayout::Input> inputs = layout.inputs();
      auto &registers = inputs[0].bases, &lanes = inputs[1].bases;
      if (random() % 2) // a register that adds nothing, or what another one adds
        registers.insert(registers.begin() + long(random() % 4),
                         random() % 2 ? registers[random() % 3] : std::vector<int64_t>{int64_t(0)});
      if (random() % 2)
        registers[0][0] ^= registers[1][0];
      if (random() % 8 == 0)
        lanes[random() % 6][0] ^= registers[0][0];
      return LinearLayout(inputs, layout.outputs());
    };
    LinearLayout source = change(ofBits(order, 3)), result = change(ofBits(other, 3));
    if (!source.isSurjective() || !result.isSurjective())
      continue;
    auto conversion = convertInWarp(source, result, rowsAndHalves);
    if (!conversion)
      continue;
    swapping += !conversion->swaps.empty();
    EXPECT_EQ(convert(heldBy(source), *conversion), heldBy(result));
  }
  EXPECT_GT(swapping, 300);
}

// What attention computes is an operand of its second matmul: no memory where lanes swap, and memory elsewhere.
TEST(WarpConversion, results_of_matrix_instructions_become_operands) {
  struct Case {
    int64_t size, kWidth;
    size_t swaps;
  };
  for (Case each : {Case{16, 8, 2}, Case{32, 8, 1}, Case{16, 16, 2}, Case{32, 16, 1}}) {
    Shape tile = {4 * each.size, 128}, warps = {4, 1};
    LinearLayout result = mfmaAccumulator(tile, warps, each.size, each.size, /*transposed=*/true);
    LinearLayout operand = mfmaOperand(tile, warps, 0, each.kWidth, each.size, each.size);
    auto conversion = convertInWarp(result, operand, rowsAndHalves);
    ASSERT_TRUE(conversion) << each.size << " " << each.kWidth;
    EXPECT_EQ(conversion->swaps.size(), each.swaps) << each.size << " " << each.kWidth;
    EXPECT_FALSE(conversion->shuffles);
    EXPECT_EQ(convert(heldBy(result), *conversion), heldBy(operand));
    EXPECT_FALSE(convertInWarp(result, operand, 0));
  }
}

TEST(WarpConversion, not_what_other_warps_have) {
  LinearLayout source({{Dim::Register, {{1}}}, {Dim::Lane, {{2}}}, {Dim::Warp, {{4}}}}, {{Dim::Dim0, 8}});
  LinearLayout result({{Dim::Register, {{4}}}, {Dim::Lane, {{2}}}, {Dim::Warp, {{1}}}}, {{Dim::Dim0, 8}});
  EXPECT_FALSE(convertInWarp(source, result, ~uint64_t(0)));
  EXPECT_TRUE(convertInWarp(source, source, 0));
  EXPECT_FALSE(convertInWarp(source, source, ~uint64_t(0))->needsLanes());
}

} // namespace
