// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every law of linear layouts on all points of random layouts, against tables of integers.
#include "compiler/layout/LinearLayout.h"
#include "compiler/layout/TestLayout.h"
#include "support/TestError.h"
#include <algorithm>
#include <numeric>
#include <set>

using namespace heddle;
using namespace heddle::layout;

namespace {

using Random = std::mt19937;
constexpr int rounds = 200;
const std::vector<Dim> places = {Dim::Register, Dim::Lane, Dim::Warp, Dim::Block};
const std::vector<Dim> tileDims = {Dim::Dim0, Dim::Dim1, Dim::Dim2};

/// A random subset in order, not empty.
std::vector<Dim> someOf(Random &random, const std::vector<Dim> &dims) {
  std::vector<Dim> chosen;
  while (chosen.empty())
    for (Dim dim : dims)
      if (random() % 4 != 0)
        chosen.push_back(dim);
  return chosen;
}

/// `bits` split among the dimensions at random.
std::vector<int> split(Random &random, int bits, size_t count) {
  std::vector<int> parts(count);
  for (int bit = 0; bit < bits; ++bit)
    ++parts[random() % count];
  return parts;
}

/// With zero, repeated and dependent bases as well.
LinearLayout randomLayout(Random &random, int inBits, int outBits, const std::vector<Dim> &ins,
                          const std::vector<Dim> &outs) {
  std::vector<LinearLayout::Input> inputs;
  std::vector<LinearLayout::Output> outputs;
  std::vector<int> outSplit = split(random, outBits, outs.size()), inSplit = split(random, inBits, ins.size());
  for (size_t k = 0; k < outs.size(); ++k)
    outputs.push_back({outs[k], int64_t(1) << outSplit[k]});
  std::vector<std::vector<int64_t>> earlier;
  for (size_t i = 0; i < ins.size(); ++i) {
    inputs.push_back({ins[i], {}});
    for (int bit = 0; bit < inSplit[i]; ++bit) {
      std::vector<int64_t> basis(outs.size());
      unsigned kind = random() % 8;
      for (size_t k = 0; k < outs.size() && kind != 0; ++k)
        basis[k] = int64_t(random() % uint64_t(outputs[k].size));
      if (kind == 1 && !earlier.empty())
        basis = earlier[random() % earlier.size()];
      earlier.push_back(basis);
      inputs.back().bases.push_back(basis);
    }
  }
  return LinearLayout(inputs, outputs);
}

LinearLayout randomLayout(Random &random, int inBits, int outBits) {
  return randomLayout(random, inBits, outBits, someOf(random, places), someOf(random, tileDims));
}

/// Every input bit goes to its own output bit, shuffled.
LinearLayout randomPermutation(Random &random, const std::vector<std::pair<Dim, int>> &ins,
                               const std::vector<std::pair<Dim, int>> &outs) {
  std::vector<std::vector<int64_t>> bases;
  std::vector<LinearLayout::Output> outputs;
  for (size_t k = 0; k < outs.size(); ++k) {
    outputs.push_back({outs[k].first, int64_t(1) << outs[k].second});
    for (int bit = 0; bit < outs[k].second; ++bit) {
      bases.emplace_back(outs.size());
      bases.back()[k] = int64_t(1) << bit;
    }
  }
  std::shuffle(bases.begin(), bases.end(), random);
  std::vector<LinearLayout::Input> inputs;
  auto next = bases.begin();
  for (auto [dim, bits] : ins) {
    inputs.push_back({dim, {next, next + bits}});
    next += bits;
  }
  return LinearLayout(inputs, outputs);
}

int64_t naiveFlat(const LinearLayout &layout, const Coordinates &place) {
  return flatten(layout.outputs(), naiveApply(layout, place));
}

std::vector<std::pair<Dim, int64_t>> inputSizes(const LinearLayout &layout) {
  std::vector<std::pair<Dim, int64_t>> sizes;
  for (const LinearLayout::Input &input : layout.inputs())
    sizes.emplace_back(input.dim, int64_t(1) << input.bases.size());
  return sizes;
}

int64_t flattenPlace(const LinearLayout &layout, const Coordinates &place) {
  int64_t flat = 0, scale = 1;
  for (auto [dim, size] : inputSizes(layout)) {
    flat += scale * coordinate(place, dim);
    scale *= size;
  }
  return flat;
}

/// The table: for each flat place the flat result.
std::vector<int64_t> tableOf(const LinearLayout &layout) {
  std::vector<int64_t> table;
  for (const Coordinates &place : placesOf(layout))
    table.push_back(naiveFlat(layout, place));
  return table;
}

std::vector<Dim> dimsOf(const std::vector<LinearLayout::Output> &outputs) {
  std::vector<Dim> dims;
  for (const LinearLayout::Output &output : outputs)
    dims.push_back(output.dim);
  return dims;
}

std::vector<Dim> dimsOf(const std::vector<LinearLayout::Input> &inputs) {
  std::vector<Dim> dims;
  for (const LinearLayout::Input &input : inputs)
    dims.push_back(input.dim);
  return dims;
}

} // namespace

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
    LinearLayout turned = layout.transposeInputs(ins).transposeOutputs(outs);
    EXPECT_EQ(dimsOf(turned.inputs()), ins);
    EXPECT_EQ(dimsOf(turned.outputs()), outs);
    for (const Coordinates &place : placesOf(layout))
      ASSERT_EQ(naiveApply(turned, place), naiveApply(layout, place));
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

TEST(LinearLayout, composition) {
  Random random(7);
  for (int round = 0; round < rounds; ++round) {
    LinearLayout inner = randomLayout(random, int(random() % 8), int(random() % 7));
    std::vector<LinearLayout::Input> ins;
    for (const LinearLayout::Output &out : inner.outputs()) {
      int bits = inner.outputSize(out.dim) > 1 ? int(std::countr_zero(uint64_t(out.size))) : 0;
      ins.push_back({out.dim, {}});
      for (int bit = bits + int(random() % 2); bit > 0; --bit)
        ins.back().bases.push_back({int64_t(random() % 16), int64_t(random() % 4)});
    }
    std::shuffle(ins.begin(), ins.end(), random);
    LinearLayout outer(ins, {{Dim::Dim4, 16}, {Dim::Offset, 4}});
    LinearLayout composed = inner.compose(outer);
    for (const Coordinates &place : placesOf(inner)) {
      Coordinates middle;
      for (auto [dim, value] : naiveApply(inner, place))
        middle.emplace_back(dim, value);
      ASSERT_EQ(naiveApply(composed, place), naiveApply(outer, middle));
    }
  }
}

TEST(LinearLayout, pseudoinverse_is_the_smallest_place) {
  Random random(8);
  int tested = 0;
  for (int round = 0; round < 4 * rounds; ++round) {
    LinearLayout layout = randomLayout(random, 4 + int(random() % 6), int(random() % 6));
    if (!layout.isSurjective()) {
      EXPECT_EQ(errorOf([&] { layout.pseudoinvert(); }).kind, ErrorClass::Internal);
      continue;
    }
    ++tested;
    LinearLayout inverse = layout.pseudoinvert();
    std::vector<int64_t> table = tableOf(layout), places = tableOf(inverse);
    ASSERT_EQ(dimsOf(inverse.inputs()), dimsOf(layout.outputs()));
    ASSERT_EQ(dimsOf(inverse.outputs()), dimsOf(layout.inputs()));
    for (size_t y = 0; y < places.size(); ++y)
      ASSERT_EQ(places[y], std::find(table.begin(), table.end(), int64_t(y)) - table.begin());
  }
  EXPECT_GT(tested, rounds);
}

TEST(LinearLayout, conversion_finds_what_it_needs) {
  Random random(9);
  int tested = 0, agreeing = 0;
  for (int round = 0; round < 10 * rounds; ++round) {
    LinearLayout from = randomLayout(random, 4 + int(random() % 5), int(random() % 6));
    LinearLayout to =
        randomLayout(random, int(random() % 8), from.totalOutputBits(), someOf(random, places), dimsOf(from.outputs()));
    // The outputs of `from`, on which `to` may have less.
    std::vector<LinearLayout::Output> outputs = from.outputs();
    std::vector<LinearLayout::Input> inputs = to.inputs();
    for (LinearLayout::Input &input : inputs) {
      if (random() % 3 == 0 && from.hasInput(input.dim))
        input.bases = basesOf(from, input.dim);
      for (std::vector<int64_t> &basis : input.bases)
        for (size_t k = 0; k < outputs.size(); ++k)
          basis[k] &= outputs[k].size - 1;
    }
    to = LinearLayout(inputs, outputs);
    if (!from.isSurjective())
      continue;
    ++tested;
    LinearLayout conversion = to.invertAndCompose(from);
    std::vector<int64_t> table = tableOf(from);
    std::vector<Dim> same;
    for (const LinearLayout::Input &input : to.inputs())
      if (from.hasInput(input.dim) && basesOf(from, input.dim) == input.bases)
        same.push_back(input.dim);
    agreeing += !same.empty();
    for (const Coordinates &place : placesOf(to)) {
      std::map<Dim, int64_t> source = naiveApply(conversion, place);
      Coordinates sourcePlace(source.begin(), source.end());
      ASSERT_EQ(naiveApply(from, sourcePlace), naiveApply(to, place));
      if (same.empty()) {
        ASSERT_EQ(flattenPlace(from, sourcePlace),
                  std::find(table.begin(), table.end(), naiveFlat(to, place)) - table.begin());
      }
    }
    for (Dim dim : same)
      for (int64_t value = 0; value < to.inputSize(dim); ++value)
        ASSERT_EQ(conversion.applyFlat({{dim, value}}), flatten(conversion.outputs(), [&] {
                    std::map<Dim, int64_t> only;
                    for (const LinearLayout::Output &out : conversion.outputs())
                      only[out.dim] = out.dim == dim ? value : 0;
                    return only;
                  }()));
  }
  EXPECT_GT(tested, rounds);
  EXPECT_GT(agreeing, rounds / 4);
}

TEST(LinearLayout, conversion_between_copies_keeps_warps) {
  LinearLayout row = LinearLayout::identity1D(4, Dim::Register, Dim::Dim0) *
                     LinearLayout::identity1D(4, Dim::Lane, Dim::Dim0) * LinearLayout::zeros1D(4, Dim::Warp, Dim::Dim0);
  LinearLayout turned = LinearLayout::identity1D(4, Dim::Lane, Dim::Dim0) *
                        LinearLayout::identity1D(4, Dim::Register, Dim::Dim0) *
                        LinearLayout::zeros1D(4, Dim::Warp, Dim::Dim0);
  LinearLayout conversion = turned.invertAndCompose(row);
  EXPECT_TRUE(conversion.isIdentityOver({Dim::Warp}));
  EXPECT_FALSE(conversion.isIdentityOver({Dim::Lane}));
  EXPECT_TRUE(row.invertAndCompose(row).isIdentityOver({Dim::Register, Dim::Lane, Dim::Warp}));
}

TEST(LinearLayout, conversion_keeps_off_dimensions_that_map_to_themselves) {
  LinearLayout from({{Dim::Warp, {{1}}}, {Dim::Register, {{1}}}}, {{Dim::Dim0, 2}});
  LinearLayout to({{Dim::Warp, {{1}}}, {Dim::Lane, {{1}}}}, {{Dim::Dim0, 2}});
  LinearLayout conversion = to.invertAndCompose(from);
  EXPECT_EQ(conversion.apply({{Dim::Lane, 1}}), (std::vector<int64_t>{0, 1}));
  // Unless only they reach an element.
  LinearLayout alone({{Dim::Warp, {{1}}}, {Dim::Register, {{0}}}}, {{Dim::Dim0, 2}});
  EXPECT_EQ(to.invertAndCompose(alone).apply({{Dim::Lane, 1}}), (std::vector<int64_t>{1, 0}));
}

TEST(LinearLayout, conversion_refuses_what_is_not_reached) {
  LinearLayout all = LinearLayout::identity1D(4, Dim::Lane, Dim::Dim0);
  LinearLayout half({{Dim::Lane, {{1}}}}, {{Dim::Dim0, 4}});
  EXPECT_EQ(errorOf([&] { all.invertAndCompose(half); }).kind, ErrorClass::Internal);
}

TEST(LinearLayout, division_undoes_the_product) {
  Random random(10);
  for (int round = 0; round < 4 * rounds; ++round) {
    std::vector<Dim> ins = someOf(random, places), outs = someOf(random, tileDims);
    LinearLayout a =
        randomLayout(random, int(random() % 6), int(random() % 6), someOf(random, ins), someOf(random, outs));
    LinearLayout c = randomLayout(random, int(random() % 6), int(random() % 6), ins, outs);
    std::optional<LinearLayout> left = (a * c).divideLeft(a), right = (c * a).divideRight(a);
    ASSERT_TRUE(left && right);
    EXPECT_EQ(*left, c);
    EXPECT_EQ(*right, c);
  }
}

/// All layouts C with the given sizes, tried one by one.
template <typename Product>
static bool someQuotient(const LinearLayout &whole, const LinearLayout &factor, Product product) {
  std::vector<LinearLayout::Output> outputs;
  int outBits = 0;
  for (const LinearLayout::Output &out : whole.outputs()) {
    if (factor.outputSize(out.dim) > out.size)
      return false;
    outputs.push_back({out.dim, out.size / factor.outputSize(out.dim)});
    outBits += std::countr_zero(uint64_t(outputs.back().size));
  }
  int bases = 0;
  for (const LinearLayout::Input &input : whole.inputs())
    if (int rest = int(input.bases.size()) - factor.inputBits(input.dim); rest < 0)
      return false;
    else
      bases += rest;
  for (int64_t code = 0; code < int64_t(1) << (bases * outBits); ++code) {
    int64_t rest = code;
    std::vector<LinearLayout::Input> inputs;
    for (const LinearLayout::Input &input : whole.inputs()) {
      inputs.push_back({input.dim, {}});
      for (int bit = factor.inputBits(input.dim); bit < int(input.bases.size()); ++bit) {
        inputs.back().bases.emplace_back();
        for (const LinearLayout::Output &out : outputs) {
          inputs.back().bases.back().push_back(rest % out.size);
          rest /= out.size;
        }
      }
    }
    if (product(LinearLayout(inputs, outputs)) == whole)
      return true;
  }
  return false;
}

TEST(LinearLayout, division_fails_only_where_no_quotient_is) {
  Random random(11);
  int quotients = 0;
  const std::vector<Dim> ins = {Dim::Register, Dim::Lane}, outs = {Dim::Dim0, Dim::Dim1};
  for (int round = 0; round < 20 * rounds; ++round) {
    LinearLayout whole = randomPermutation(random, {{ins[0], 2}, {ins[1], 1}}, {{outs[0], 1}, {outs[1], 2}});
    if (random() % 3 == 0)
      whole = randomLayout(random, 3, 3, ins, outs);
    LinearLayout factor =
        randomLayout(random, int(random() % 3), int(random() % 3), someOf(random, ins), someOf(random, outs));
    bool left = someQuotient(whole, factor, [&](const LinearLayout &c) { return factor * c; });
    bool right = someQuotient(whole, factor, [&](const LinearLayout &c) { return c * factor; });
    ASSERT_EQ(whole.divideLeft(factor).has_value(), left) << whole.toString() << factor.toString();
    ASSERT_EQ(whole.divideRight(factor).has_value(), right) << whole.toString() << factor.toString();
    if (left)
      ASSERT_EQ(factor * *whole.divideLeft(factor), whole);
    if (right)
      ASSERT_EQ(*whole.divideRight(factor) * factor, whole);
    quotients += left + right;
  }
  EXPECT_GT(quotients, rounds);
  LinearLayout lanes = LinearLayout::identity1D(2, Dim::Lane, Dim::Dim0);
  EXPECT_FALSE(lanes.divideLeft(LinearLayout::identity1D(2, Dim::Warp, Dim::Dim0)));
}

TEST(LinearLayout, identity_over_dimensions) {
  Random random(12);
  int identities = 0;
  for (int round = 0; round < 4 * rounds; ++round) {
    const std::vector<Dim> dims = {Dim::Register, Dim::Lane, Dim::Warp};
    LinearLayout layout;
    for (Dim dim : dims)
      layout *= LinearLayout::identity1D(4, dim, dim);
    std::vector<LinearLayout::Input> inputs = layout.inputs();
    for (unsigned changes = random() % 3; changes > 0; --changes)
      inputs[random() % 3].bases[random() % 2][random() % 3] ^= int64_t(random() % 4);
    layout = LinearLayout(inputs, layout.outputs());
    std::vector<Dim> over = someOf(random, dims);
    bool identity = true;
    for (const Coordinates &place : placesOf(layout)) {
      Coordinates others;
      for (auto [dim, value] : place)
        if (std::find(over.begin(), over.end(), dim) == over.end())
          others.emplace_back(dim, value);
      std::map<Dim, int64_t> values = naiveApply(layout, place), without = naiveApply(layout, others);
      for (Dim dim : dims)
        if (std::find(over.begin(), over.end(), dim) != over.end())
          identity &= values[dim] == coordinate(place, dim);
        else
          identity &= values[dim] == without[dim];
    }
    EXPECT_EQ(layout.isIdentityOver(over), identity);
    identities += identity;
  }
  EXPECT_GT(identities, rounds);
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
