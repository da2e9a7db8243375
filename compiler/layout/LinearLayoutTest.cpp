// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every law of linear layouts on all points of random layouts, against tables of integers.
#include "compiler/layout/RandomLayout.h"
#include "support/TestError.h"
#include <numeric>
#include <set>

using namespace heddle;
using namespace heddle::layout;

TEST(LinearLayout, apply_is_the_sum_of_bases) {
  Random random(1);
  for (int round = 0; round < rounds; ++round) {
    LinearLayout layout = randomLayout(random, int(random() % 11), int(random() % 13));
    std::vector<int64_t> table = tableOf(layout);
    std::vector<Coordinates> all = placesOf(layout);
    ASSERT_EQ(all.size(), size_t(1) << layout.totalInputBits());
    ASSERT_EQ(flatTable(layout), table);
    for (size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(layout.applyFlat(all[i]), table[i]);
      std::map<Dim, int64_t> values = naiveApply(layout, all[i]);
      std::vector<int64_t> listed;
      for (const LinearLayout::Output &out : layout.outputs())
        listed.push_back(values[out.dim]);
      ASSERT_EQ(layout.apply(all[i]), listed);
    }
    std::set<int64_t> image(table.begin(), table.end());
    EXPECT_EQ(layout.isInjective(), image.size() == all.size());
    EXPECT_EQ(layout.isSurjective(), image.size() == size_t(1) << layout.totalOutputBits());
  }
}

TEST(LinearLayout, sizes_and_bases) {
  LinearLayout layout({{Dim::Lane, {{1, 1}, {2, 2}}}, {Dim::Warp, {{0, 1}, {0, 2}}}}, {{Dim::Dim0, 4}, {Dim::Dim1, 4}});
  for (int64_t lane = 0; lane < 4; ++lane)
    for (int64_t warp = 0; warp < 4; ++warp)
      EXPECT_EQ(layout.apply({{Dim::Lane, lane}, {Dim::Warp, warp}}), (std::vector<int64_t>{lane, warp ^ lane}));
  EXPECT_EQ(layout.inputSize(Dim::Lane), 4);
  EXPECT_EQ(layout.inputSize(Dim::Block), 1);
  EXPECT_EQ(layout.inputBits(Dim::Register), 0);
  EXPECT_EQ(layout.outputSize(Dim::Dim1), 4);
  EXPECT_EQ(layout.outputSize(Dim::Dim5), 1);
  EXPECT_EQ(layout.basis(Dim::Warp, 1, Dim::Dim1), 2);
  EXPECT_TRUE(layout.hasInput(Dim::Warp) && !layout.hasInput(Dim::Block));
  EXPECT_TRUE(layout.hasOutput(Dim::Dim0) && !layout.hasOutput(Dim::Dim2));
  EXPECT_EQ(layout.toString(), "lane=1 -> (1, 1); lane=2 -> (2, 2)\nwarp=1 -> (0, 1); warp=2 -> (0, 2)\n"
                               "outputs: dim0 (4) dim1 (4)\n");
  EXPECT_EQ(LinearLayout::identity1D(1, Dim::Lane, Dim::Dim0).toString(), "lane has size 1\noutputs: dim0 (1)\n");
}

TEST(LinearLayout, one_dimension) {
  for (int64_t x = 0; x < 8; ++x) {
    EXPECT_EQ(LinearLayout::identity1D(8, Dim::Lane, Dim::Dim0).applyFlat({{Dim::Lane, x}}), x);
    EXPECT_EQ(LinearLayout::strided1D(8, 4, Dim::Lane, Dim::Dim0).applyFlat({{Dim::Lane, x}}), 4 * x);
    EXPECT_EQ(LinearLayout::zeros1D(8, Dim::Lane, Dim::Dim0, 2).applyFlat({{Dim::Lane, x}}), 0);
  }
  EXPECT_EQ(LinearLayout::strided1D(8, 4, Dim::Lane, Dim::Dim0).outputSize(Dim::Dim0), 32);
  EXPECT_EQ(LinearLayout::zeros1D(8, Dim::Lane, Dim::Dim0, 2).outputSize(Dim::Dim0), 2);
}

TEST(LinearLayout, product_places_the_second_above_the_first) {
  Random random(2);
  for (int round = 0; round < rounds; ++round) {
    LinearLayout a = randomLayout(random, int(random() % 6), int(random() % 7));
    LinearLayout b = randomLayout(random, int(random() % 6), int(random() % 7));
    LinearLayout product = a * b;
    ASSERT_EQ(product.totalInputBits(), a.totalInputBits() + b.totalInputBits());
    for (const Coordinates &place : placesOf(product)) {
      Coordinates low, high;
      for (auto [dim, value] : place) {
        low.emplace_back(dim, value % a.inputSize(dim));
        high.emplace_back(dim, value / a.inputSize(dim));
      }
      std::map<Dim, int64_t> first = naiveApply(a, low), second = naiveApply(b, high), all = naiveApply(product, place);
      for (auto [dim, value] : all)
        ASSERT_EQ(value, first[dim] + a.outputSize(dim) * second[dim]);
    }
    LinearLayout c = randomLayout(random, 3, 3, dimsOf(product.inputs()), dimsOf(product.outputs()));
    EXPECT_EQ((a * b) * c, a * (b * c));
    EXPECT_EQ(a * LinearLayout(), a);
    EXPECT_EQ(LinearLayout() * a, a);
  }
}

TEST(LinearLayout, product_examples_and_orders) {
  auto identity = [](int64_t size) { return LinearLayout::identity1D(size, Dim::Lane, Dim::Dim0); };
  auto zeros = [](int64_t size) { return LinearLayout::zeros1D(size, Dim::Lane, Dim::Dim0); };
  EXPECT_EQ(identity(4) * identity(2), identity(8));
  for (int64_t x = 0; x < 8; ++x) {
    EXPECT_EQ((identity(4) * zeros(2)).applyFlat({{Dim::Lane, x}}), x % 4);
    EXPECT_EQ((zeros(2) * identity(4)).applyFlat({{Dim::Lane, x}}), x / 2);
  }
  LinearLayout rows = LinearLayout::identity1D(2, Dim::Lane, Dim::Dim0);
  LinearLayout columns = LinearLayout::identity1D(2, Dim::Lane, Dim::Dim1);
  EXPECT_EQ(dimsOf((columns * rows).outputs()), (std::vector<Dim>{Dim::Dim1, Dim::Dim0}));
  EXPECT_EQ(errorOf([&] { (columns * rows) * (rows * columns); }).kind, ErrorClass::Internal);
}

TEST(LinearLayout, shapes_change_names_only) {
  Random random(3);
  for (int round = 0; round < rounds; ++round) {
    LinearLayout layout = randomLayout(random, int(random() % 9), int(random() % 10));
    std::vector<int64_t> table = tableOf(layout);
    std::vector<int> ins = split(random, layout.totalInputBits(), 2), outs = split(random, layout.totalOutputBits(), 2);
    std::vector<std::pair<Dim, int64_t>> sizes = {{Dim::Warp, int64_t(1) << ins[0]},
                                                  {Dim::Offset, int64_t(1) << ins[1]}};
    std::vector<LinearLayout::Output> outputs = {{Dim::Dim3, int64_t(1) << outs[0]},
                                                 {Dim::Dim1, int64_t(1) << outs[1]}};
    EXPECT_EQ(tableOf(layout.reshapeInputs(sizes)), table);
    EXPECT_EQ(inputSizes(layout.reshapeInputs(sizes)), sizes);
    EXPECT_EQ(tableOf(layout.reshapeOutputs(outputs)), table);
    EXPECT_EQ(layout.reshapeOutputs(outputs).outputs(), outputs);
    EXPECT_EQ(tableOf(layout.flattenInputs(Dim::Block).flattenOutputs(Dim::Offset)), table);
    EXPECT_EQ(layout.flattenInputs(Dim::Block).inputs().size(), 1u);
    EXPECT_EQ(layout.reshapeInputs(sizes).reshapeInputs(inputSizes(layout)), layout);

    Dim first = layout.inputs()[0].dim, out = layout.outputs()[0].dim;
    EXPECT_EQ(tableOf(layout.renameInput(first, Dim::Offset).renameOutput(out, Dim::Dim7)), table);
    EXPECT_TRUE(layout.renameInput(first, Dim::Offset).hasInput(Dim::Offset));
  }
}

TEST(LinearLayout, transposition_keeps_the_function) {
  Random random(4);
  for (int round = 0; round < rounds; ++round) {
    LinearLayout layout = randomLayout(random, int(random() % 9), int(random() % 10));
    std::vector<Dim> ins = dimsOf(layout.inputs()), outs = dimsOf(layout.outputs());
    std::shuffle(ins.begin(), ins.end(), random);
    std::shuffle(outs.begin(), outs.end(), random);
    LinearLayout transposed = layout.transposeInputs(ins).transposeOutputs(outs);
    EXPECT_EQ(dimsOf(transposed.inputs()), ins);
    EXPECT_EQ(dimsOf(transposed.outputs()), outs);
    for (const Coordinates &place : placesOf(layout))
      ASSERT_EQ(naiveApply(transposed, place), naiveApply(layout, place));
  }
}

TEST(LinearLayout, sublayouts) {
  Random random(5);
  for (int round = 0; round < rounds; ++round) {
    LinearLayout layout = randomLayout(random, int(random() % 8), int(random() % 6));
    std::vector<Dim> ins = someOf(random, dimsOf(layout.inputs())), outs = someOf(random, dimsOf(layout.outputs()));
    LinearLayout part = layout.sublayout(ins, outs);
    EXPECT_EQ(dimsOf(part.inputs()), ins);
    EXPECT_EQ(dimsOf(part.outputs()), outs);
    bool zero = true;
    for (const Coordinates &place : placesOf(part)) {
      std::map<Dim, int64_t> whole = naiveApply(layout, place);
      for (auto [dim, value] : naiveApply(part, place)) {
        ASSERT_EQ(value, whole[dim]);
        zero &= value == 0;
      }
    }
    EXPECT_EQ(layout.sublayoutIsZero(ins, outs), zero);
    for (Dim dim : outs)
      EXPECT_EQ(part.outputSize(dim), layout.outputSize(dim));
  }
}

TEST(LinearLayout, removed_bits) {
  Random random(6);
  for (int round = 0; round < rounds; ++round) {
    LinearLayout layout = randomLayout(random, 7, 5);
    Dim dim = layout.inputs()[random() % layout.inputs().size()].dim;
    uint64_t removed = random() % uint64_t(layout.inputSize(dim));
    LinearLayout rest = layout.removeInputBits(dim, removed);
    for (const Coordinates &place : placesOf(rest)) {
      Coordinates spread;
      for (auto [name, value] : place) {
        int64_t wide = 0;
        for (int bit = 0, from = 0; bit < layout.inputBits(name); ++bit)
          if (name != dim || !(removed >> bit & 1))
            wide |= (value >> from++ & 1) << bit;
        spread.emplace_back(name, wide);
      }
      ASSERT_EQ(naiveApply(rest, place), naiveApply(layout, spread));
    }
    Bases kept = basesOf(layout, dim);
    std::erase_if(kept,
                  [](const auto &basis) { return std::count(basis.begin(), basis.end(), 0) == int(basis.size()); });
    EXPECT_EQ(basesOf(layout.removeZeroBases(dim), dim), kept);
  }
}

TEST(LinearLayout, free_bits_change_nothing_new) {
  Random random(13);
  for (int round = 0; round < rounds; ++round) {
    LinearLayout layout = randomLayout(random, 8, 5);
    std::vector<int64_t> table = tableOf(layout);
    int64_t scale = 1, copies = 1;
    for (const LinearLayout::Input &input : layout.inputs()) {
      uint64_t mask = layout.freeBits(input.dim);
      for (size_t bit = 0; bit < input.bases.size(); ++bit, scale *= 2) {
        // Free: what it adds can be had by the places below it.
        bool reached = std::find(table.begin(), table.begin() + scale, table[scale]) != table.begin() + scale;
        ASSERT_EQ(bool(mask >> bit & 1), reached);
        copies *= reached ? 2 : 1;
      }
    }
    for (int64_t value : std::set<int64_t>(table.begin(), table.end()))
      ASSERT_EQ(std::count(table.begin(), table.end(), value), copies);
  }
}

TEST(LinearLayout, consecutive_runs) {
  Random random(14);
  int runs = 0;
  for (int round = 0; round < 4 * rounds; ++round) {
    LinearLayout layout =
        LinearLayout::identity1D(int64_t(1) << random() % 4, Dim::Register, Dim::Dim0) *
        randomPermutation(random, {{Dim::Register, 2}, {Dim::Lane, 2}}, {{Dim::Dim0, 2}, {Dim::Dim1, 2}});
    std::vector<LinearLayout::Input> inputs = layout.inputs();
    if (random() % 2)
      inputs[1].bases[0][random() % 2] ^= 2;
    layout = LinearLayout(inputs, layout.outputs());
    int64_t longest = 1;
    for (int64_t v = 2; v <= layout.inputSize(Dim::Register); v *= 2) {
      bool holds = true;
      for (const Coordinates &place : placesOf(layout)) {
        Coordinates start = place;
        start[0].second -= start[0].second % v;
        std::map<Dim, int64_t> expected = naiveApply(layout, start);
        expected[Dim::Dim0] += place[0].second % v;
        holds &= naiveApply(layout, place) == expected;
      }
      longest = holds ? v : longest;
    }
    EXPECT_EQ(layout.consecutive(), longest);
    runs += longest > 1;
  }
  EXPECT_GT(runs, rounds);
}

TEST(LinearLayout, equality_and_hash) {
  Random random(15);
  std::set<uint64_t> hashes;
  std::set<std::string> texts;
  for (int round = 0; round < 10 * rounds; ++round) {
    LinearLayout layout = randomLayout(random, int(random() % 5), int(random() % 5));
    LinearLayout same(layout.inputs(), layout.outputs());
    ASSERT_EQ(layout, same);
    ASSERT_EQ(layout.hash(), same.hash());
    hashes.insert(layout.hash());
    texts.insert(layout.toString());
  }
  EXPECT_EQ(hashes.size(), texts.size());
  LinearLayout lane = LinearLayout::identity1D(4, Dim::Lane, Dim::Dim0);
  EXPECT_NE(lane, lane.renameInput(Dim::Lane, Dim::Warp));
  EXPECT_NE(lane, LinearLayout(lane.inputs(), {{Dim::Dim0, 8}}));
}

TEST(LinearLayout, broken_preconditions_are_internal_errors) {
  LinearLayout layout = LinearLayout::identity1D(4, Dim::Lane, Dim::Dim0);
  auto internal = [](auto action) { return errorOf(action).kind == ErrorClass::Internal; };
  EXPECT_TRUE(internal([] { LinearLayout::identity1D(3, Dim::Lane, Dim::Dim0); }));
  EXPECT_TRUE(internal([] { LinearLayout::identity1D(0, Dim::Lane, Dim::Dim0); }));
  EXPECT_TRUE(internal([] { LinearLayout({{Dim::Lane, {{4}}}}, {{Dim::Dim0, 4}}); }));
  EXPECT_TRUE(internal([] { LinearLayout({{Dim::Lane, {{1, 2}}}}, {{Dim::Dim0, 4}}); }));
  EXPECT_TRUE(internal([] { LinearLayout({{Dim::Lane, {}}, {Dim::Lane, {}}}, {}); }));
  EXPECT_TRUE(internal([] { LinearLayout({}, {{Dim::Dim0, 1}, {Dim::Dim0, 1}}); }));
  EXPECT_TRUE(internal([] { LinearLayout({}, {{Dim::Dim0, 6}}); }));
  EXPECT_TRUE(internal([&] { layout.apply({{Dim::Warp, 1}}); }));
  EXPECT_TRUE(internal([&] { layout.apply({{Dim::Lane, 4}}); }));
  EXPECT_TRUE(internal([&] { layout.basis(Dim::Lane, 2, Dim::Dim0); }));
  EXPECT_TRUE(internal([&] { layout.sublayout({Dim::Warp}, {Dim::Dim0}); }));
  EXPECT_TRUE(internal([&] { layout.reshapeInputs({{Dim::Lane, 2}}); }));
  EXPECT_TRUE(internal([&] { layout.reshapeOutputs({{Dim::Dim0, 8}}); }));
  EXPECT_TRUE(internal([&] { layout.renameOutput(Dim::Dim1, Dim::Dim2); }));
  EXPECT_TRUE(internal([&] { layout.compose(LinearLayout::identity1D(4, Dim::Dim1, Dim::Offset)); }));
  EXPECT_TRUE(internal([&] { layout.compose(LinearLayout::identity1D(2, Dim::Dim0, Dim::Offset)); }));
  EXPECT_TRUE(internal([&] { layout.transposeOutputs({}); }));
  EXPECT_TRUE(internal([&] { layout.removeInputBits(Dim::Lane, 4); }));
  EXPECT_TRUE(internal([] { tileDim(maxTileRank); }));
}
