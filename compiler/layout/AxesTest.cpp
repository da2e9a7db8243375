// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layouts of tiles made of others, element by element, and how layouts move along axes.
#include "compiler/layout/Axes.h"
#include "compiler/layout/TestLayout.h"
#include "support/TestError.h"
#include <set>

using namespace heddle;
using namespace heddle::layout;

TEST(Axes, slice_is_the_projection) {
  const Shape shape = {16, 8, 32};
  std::vector<LinearLayout> parents = {blocked(shape, {1, 2, 4}, {2, 4, 4}, {2, 1, 2}, {2, 1, 0}),
                                       blocked(shape, {4, 2, 2}, {4, 1, 8}, {1, 4, 1}, {0, 2, 1}),
                                       mmaAccumulator(shape, {1, 1, 4}),
                                       mfmaAccumulator(shape, {2, 1, 2}, 16, 16, false)};
  for (const LinearLayout &parent : parents)
    for (int axis = 0; axis < 3; ++axis) {
      LinearLayout sliced = slice(parent, axis);
      Shape rest = shape;
      rest.erase(rest.begin() + axis);
      expectCovers(sliced, rest, parent.inputSize(Dim::Lane), parent.inputSize(Dim::Warp));
      std::map<std::pair<int64_t, int64_t>, std::set<Element>> projected, held;
      for (const Coordinates &place : placesOf(parent)) {
        Element element = parent.apply(place);
        element.erase(element.begin() + axis);
        projected[{place[1].second, place[2].second}].insert(element);
      }
      for (const Coordinates &place : placesOf(sliced))
        EXPECT_TRUE((held[{place[1].second, place[2].second}].insert(sliced.apply(place)).second));
      EXPECT_EQ(held, projected);
    }
  // Registers that differ only along the axis, although none of them is a zero base afterwards.
  LinearLayout crossed({{Dim::Register, {{0, 1}, {1, 1}}}}, {{Dim::Dim0, 2}, {Dim::Dim1, 2}});
  EXPECT_EQ(basesOf(slice(crossed, 0), Dim::Register), (Bases{{1}}));
  EXPECT_EQ(messageOf([&] { slice(crossed, 2); }), "layout: slice: no axis 2 in a tile of rank 2");
}

TEST(Axes, expanded_axis_has_size_one) {
  LinearLayout layout = blocked({8, 32}, {1, 4}, {4, 8}, {2, 2}, {1, 0});
  for (int axis = 0; axis <= 2; ++axis) {
    Shape shape = {8, 32};
    shape.insert(shape.begin() + axis, 1);
    LinearLayout expanded = expandAxis(layout, axis);
    expectCovers(expanded, shape, 32, 4);
    EXPECT_EQ(slice(expanded, axis), layout);
    for (const Coordinates &place : placesOf(layout)) {
      Element element = layout.apply(place);
      element.insert(element.begin() + axis, 0);
      ASSERT_EQ(expanded.apply(place), element);
    }
  }
}

namespace {

/// Blocked along both orders, a fragment with rows and columns mixed, and one with copies.
std::vector<LinearLayout> samples() {
  return {blocked({8, 32}, {1, 4}, {4, 8}, {2, 2}, {1, 0}), blocked({8, 32}, {4, 2}, {2, 16}, {1, 4}, {0, 1}),
          mmaAccumulator({32, 16}, {2, 2}), blocked({8, 32}, {1, 2}, {2, 16}, {8, 1}, {1, 0})};
}

Shape sizesOf(const LinearLayout &layout) {
  Shape sizes;
  for (const LinearLayout::Output &output : layout.outputs())
    sizes.push_back(output.size);
  return sizes;
}

int64_t rowMajorNumber(const Element &element, const Shape &shape) {
  int64_t number = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis)
    number = number * shape[axis] + element[axis];
  return number;
}

} // namespace

TEST(Axes, permuted_axes_permute_coordinates) {
  LinearLayout layout = blocked({4, 8, 16}, {1, 2, 2}, {2, 4, 4}, {2, 1, 2}, {2, 0, 1});
  for (const Order &order : {Order{0, 1, 2}, Order{2, 0, 1}, Order{1, 0, 2}, Order{2, 1, 0}}) {
    LinearLayout permuted = permuteAxes(layout, order);
    for (const Coordinates &place : placesOf(layout)) {
      Element from = layout.apply(place), to = permuted.apply(place);
      for (size_t axis = 0; axis < 3; ++axis)
        ASSERT_EQ(to[axis], from[size_t(order[axis])]);
    }
    EXPECT_EQ(permuteAxes(permuted, inverseOrder(order)), layout);
  }
  EXPECT_EQ(inverseOrder({2, 0, 1}), (Order{1, 2, 0}));
}

TEST(Axes, a_flat_axis_is_zero_and_moves_no_register) {
  for (const LinearLayout &layout : samples())
    for (int axis = 0; axis < 2; ++axis) {
      LinearLayout flat = flattenAxis(layout, axis);
      Shape sizes = sizesOf(layout);
      sizes[size_t(axis)] = 1;
      EXPECT_EQ(sizesOf(flat), sizes);
      EXPECT_EQ(flat.removeZeroBases(Dim::Register), flat);
      std::map<std::pair<int64_t, int64_t>, std::set<Element>> projected, held;
      auto holderOf = [](const Coordinates &place) {
        return std::pair(coordinate(place, Dim::Lane), coordinate(place, Dim::Warp));
      };
      for (const Coordinates &place : placesOf(layout)) {
        Element element = layout.apply(place);
        element[size_t(axis)] = 0;
        projected[holderOf(place)].insert(element);
      }
      for (const Coordinates &place : placesOf(flat))
        held[holderOf(place)].insert(flat.apply(place));
      EXPECT_EQ(held, projected);
    }
}

TEST(Axes, another_shape_keeps_the_row_major_number) {
  for (const LinearLayout &layout : samples()) {
    Shape sizes = sizesOf(layout);
    int64_t count = sizes[0] * sizes[1];
    for (const Shape &shape : {Shape{count}, Shape{2, count / 2}, Shape{count / 8, 2, 4}, Shape{1, count, 1}}) {
      LinearLayout shaped = reshape(layout, shape);
      EXPECT_EQ(sizesOf(shaped), shape);
      for (const Coordinates &place : placesOf(layout))
        ASSERT_EQ(rowMajorNumber(shaped.apply(place), shape), rowMajorNumber(layout.apply(place), sizes));
    }
  }
  EXPECT_THROW(reshape(samples()[0], {8, 16}), Error);
}

// Register 2r + i of a joined tile is register r of tile i; concatenated, the second tile's registers are the upper
// ones.
TEST(Axes, two_tiles_in_one) {
  for (const LinearLayout &layout : samples()) {
    LinearLayout joined = joinTiles(layout), whole = concatenateTiles(layout);
    Shape sizes = sizesOf(layout);
    EXPECT_EQ(sizesOf(joined), (Shape{sizes[0], sizes[1], 2}));
    EXPECT_EQ(sizesOf(whole), (Shape{2 * sizes[0], sizes[1]}));
    for (const Coordinates &place : placesOf(layout)) {
      Element element = layout.apply(place);
      for (int64_t tile : {0, 1}) {
        Coordinates inJoined = place, inWhole = place;
        inJoined[0].second = 2 * place[0].second + tile;
        inWhole[0].second = place[0].second + tile * layout.inputSize(Dim::Register);
        ASSERT_EQ(joined.apply(inJoined), (Element{element[0], element[1], tile}));
        ASSERT_EQ(whole.apply(inWhole), (Element{element[0] + tile * sizes[0], element[1]}));
      }
    }
    EXPECT_EQ(slice(joined, 2), layout);
    EXPECT_TRUE(staysInRegisters(joined, 2));
  }
}

// Each place of the source, with what its registers, or those of its warp, have along the axis taken together, is a
// place of what is left; lanes that share have each element once.
TEST(Axes, what_reductions_leave) {
  int shared = 0;
  for (const LinearLayout &layout : samples())
    for (int axis : {0, 1}) {
      int other = 1 - axis;
      auto lanes = int(bitsAlong(layout, Dim::Lane, axis).size()),
           warps = int(bitsAlong(layout, Dim::Warp, axis).size());
      LinearLayout left = leaveWarps(layout, axis), threads = leaveThreads(layout, axis);
      EXPECT_EQ(left.outputSize(tileDim(axis)), int64_t(1) << warps);
      EXPECT_EQ(threads.outputSize(tileDim(axis)), int64_t(1) << (lanes + warps));
      for (int bit = 1; bit < left.inputBits(Dim::Register); ++bit) // in the order of their coordinates
        EXPECT_LT(left.basis(Dim::Register, bit - 1, tileDim(other)), left.basis(Dim::Register, bit, tileDim(other)));
      for (const LinearLayout &part : {left, threads}) {
        std::set<int64_t> before, after; // coordinates off the axis of the first thread
        for (const Coordinates &place : placesOf(layout))
          if (place[1].second == 0 && place[2].second == 0)
            before.insert(layout.apply(place)[size_t(other)]);
        for (const Coordinates &place : placesOf(part))
          if (place[1].second == 0 && place[2].second == 0)
            after.insert(part.apply(place)[size_t(other)]);
        EXPECT_EQ(before, after);
        EXPECT_TRUE(part.isSurjective());
      }
      LinearLayout held = holdAlong(left, axis, 4);
      EXPECT_TRUE(staysInRegisters(held, axis));
      EXPECT_EQ(held.outputSize(tileDim(axis)), 4);
      EXPECT_EQ(held.basis(Dim::Register, 0, tileDim(axis)), 1);
      for (int sharing = 1; sharing <= std::min(lanes, left.inputBits(Dim::Register)); ++sharing, ++shared) {
        LinearLayout share = leaveWarps(layout, axis, sharing);
        EXPECT_EQ(share.inputSize(Dim::Register) << sharing, left.inputSize(Dim::Register));
        EXPECT_TRUE(share.isSurjective());
      }
    }
  EXPECT_GT(shared, 0);
}

TEST(Axes, how_places_move) {
  LinearLayout plain = blocked({8, 32}, {1, 4}, {4, 8}, {2, 1}, {1, 0});
  EXPECT_TRUE(movesOneAxis(plain));
  EXPECT_TRUE(isScanOrdered(plain, 0));
  EXPECT_TRUE(isScanOrdered(plain, 1));
  EXPECT_FALSE(staysInRegisters(plain, 0));
  EXPECT_TRUE(staysInRegisters(blocked({8, 4}, {1, 4}, {8, 1}, {1, 1}, {1, 0}), 1));
  LinearLayout crossed({{Dim::Register, {{1, 0}, {1, 1}}}, {Dim::Lane, {}}, {Dim::Warp, {}}},
                       {{Dim::Dim0, 2}, {Dim::Dim1, 2}});
  EXPECT_FALSE(movesOneAxis(crossed));
  EXPECT_FALSE(isScanOrdered(crossed, 1));
  // Lanes below registers: the first register is not the next element.
  LinearLayout lanesFirst = blocked({64}, {1}, {32}, {1}, {0});
  EXPECT_FALSE(isScanOrdered(lanesFirst, 0));
  EXPECT_TRUE(isScanOrdered(blocked({64}, {2}, {32}, {1}, {0}), 0));
  EXPECT_FALSE(isScanOrdered(mmaAccumulator({16, 16}, {1, 1}), 0));
}
