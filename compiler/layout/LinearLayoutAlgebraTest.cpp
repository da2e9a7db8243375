// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Composition and equations of linear layouts on all points of random layouts, against tables of integers.
#include "compiler/layout/RandomLayout.h"
#include "support/TestError.h"
#include <numeric>
#include <set>

using namespace heddle;
using namespace heddle::layout;

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
  LinearLayout transposed = LinearLayout::identity1D(4, Dim::Lane, Dim::Dim0) *
                            LinearLayout::identity1D(4, Dim::Register, Dim::Dim0) *
                            LinearLayout::zeros1D(4, Dim::Warp, Dim::Dim0);
  LinearLayout conversion = transposed.invertAndCompose(row);
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
