// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random layouts for the tests of laws, and layouts as tables of integers.
#pragma once
#include "compiler/layout/TestLayout.h"
#include <algorithm>

namespace heddle::layout {

using Random = std::mt19937;
constexpr int rounds = 200;
inline const std::vector<Dim> places = {Dim::Register, Dim::Lane, Dim::Warp, Dim::Block};
inline const std::vector<Dim> tileDims = {Dim::Dim0, Dim::Dim1, Dim::Dim2};

/// A random subset in order, not empty.
inline std::vector<Dim> someOf(Random &random, const std::vector<Dim> &dims) {
  std::vector<Dim> chosen;
  while (chosen.empty())
    for (Dim dim : dims)
      if (random() % 4 != 0)
        chosen.push_back(dim);
  return chosen;
}

/// `bits` split among the dimensions at random.
inline std::vector<int> split(Random &random, int bits, size_t count) {
  std::vector<int> parts(count);
  for (int bit = 0; bit < bits; ++bit)
    ++parts[random() % count];
  return parts;
}

/// With zero, repeated and dependent bases as well.
inline LinearLayout randomLayout(Random &random, int inBits, int outBits, const std::vector<Dim> &ins,
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

inline LinearLayout randomLayout(Random &random, int inBits, int outBits) {
  return randomLayout(random, inBits, outBits, someOf(random, places), someOf(random, tileDims));
}

/// Every input bit goes to its own output bit, shuffled.
inline LinearLayout randomPermutation(Random &random, const std::vector<std::pair<Dim, int>> &ins,
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

inline int64_t naiveFlat(const LinearLayout &layout, const Coordinates &place) {
  return flatten(layout.outputs(), naiveApply(layout, place));
}

inline std::vector<std::pair<Dim, int64_t>> inputSizes(const LinearLayout &layout) {
  std::vector<std::pair<Dim, int64_t>> sizes;
  for (const LinearLayout::Input &input : layout.inputs())
    sizes.emplace_back(input.dim, int64_t(1) << input.bases.size());
  return sizes;
}

inline int64_t flattenPlace(const LinearLayout &layout, const Coordinates &place) {
  int64_t flat = 0, scale = 1;
  for (auto [dim, size] : inputSizes(layout)) {
    flat += scale * coordinate(place, dim);
    scale *= size;
  }
  return flat;
}

/// The table: for each flat place the flat result.
inline std::vector<int64_t> tableOf(const LinearLayout &layout) {
  std::vector<int64_t> table;
  for (const Coordinates &place : placesOf(layout))
    table.push_back(naiveFlat(layout, place));
  return table;
}

inline std::vector<Dim> dimsOf(const std::vector<LinearLayout::Output> &outputs) {
  std::vector<Dim> dims;
  for (const LinearLayout::Output &output : outputs)
    dims.push_back(output.dim);
  return dims;
}

inline std::vector<Dim> dimsOf(const std::vector<LinearLayout::Input> &inputs) {
  std::vector<Dim> dims;
  for (const LinearLayout::Input &input : inputs)
    dims.push_back(input.dim);
  return dims;
}

} // namespace heddle::layout
