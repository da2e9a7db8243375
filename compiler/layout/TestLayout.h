// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the tests of layouts share: a layout as a plain table of all its places, made from the bases by hand, and short
// ways to write layouts down.
#pragma once
#include "compiler/layout/Encodings.h"
#include <gtest/gtest.h>
#include <map>
#include <random>

namespace heddle::layout {

using Bases = std::vector<std::vector<int64_t>>;

inline Bases basesOf(const LinearLayout &layout, Dim in) {
  for (const LinearLayout::Input &input : layout.inputs())
    if (input.dim == in)
      return input.bases;
  return {};
}

/// Every place, minor input first.
inline std::vector<Coordinates> placesOf(const LinearLayout &layout) {
  std::vector<Coordinates> places{{}};
  for (auto input = layout.inputs().rbegin(); input != layout.inputs().rend(); ++input) {
    std::vector<Coordinates> grown;
    for (const Coordinates &rest : places)
      for (int64_t value = 0; value < int64_t(1) << input->bases.size(); ++value) {
        Coordinates place{{input->dim, value}};
        place.insert(place.end(), rest.begin(), rest.end());
        grown.push_back(place);
      }
    places = grown;
  }
  return places;
}

inline int64_t coordinate(const Coordinates &place, Dim dim) {
  for (auto [name, value] : place)
    if (name == dim)
      return value;
  return 0;
}

/// What the bases say about a place: the outputs by name.
inline std::map<Dim, int64_t> naiveApply(const LinearLayout &layout, const Coordinates &place) {
  std::map<Dim, int64_t> sum;
  for (const LinearLayout::Output &out : layout.outputs())
    sum[out.dim] = 0;
  for (const LinearLayout::Input &input : layout.inputs())
    for (size_t bit = 0; bit < input.bases.size(); ++bit)
      if (coordinate(place, input.dim) >> bit & 1)
        for (size_t k = 0; k < layout.outputs().size(); ++k)
          sum[layout.outputs()[k].dim] ^= input.bases[bit][k];
  return sum;
}

/// As a number, the coordinates side by side, the first in the low bits.
inline int64_t flatten(const std::vector<LinearLayout::Output> &outputs, const std::map<Dim, int64_t> &values) {
  int64_t flat = 0, scale = 1;
  for (const LinearLayout::Output &out : outputs) {
    flat += scale * values.at(out.dim);
    scale *= out.size;
  }
  return flat;
}

/// flatten(naiveApply) of every place in order, doubled bit by bit.
inline std::vector<int64_t> flatTable(const LinearLayout &layout) {
  std::vector<int64_t> table = {0};
  for (const LinearLayout::Input &input : layout.inputs())
    for (const std::vector<int64_t> &basis : input.bases) {
      int64_t flat = 0, scale = 1;
      for (size_t k = 0; k < basis.size(); scale *= layout.outputs()[k++].size)
        flat += scale * basis[k];
      for (size_t i = 0, count = table.size(); i < count; ++i)
        table.push_back(table[i] ^ flat);
    }
  return table;
}

using Element = std::vector<int64_t>;

/// Every element is somewhere, and each as often as the free bits say; no register is a copy.
inline void expectCovers(const LinearLayout &layout, const Shape &shape, int64_t lanes, int64_t warps) {
  SCOPED_TRACE(layout.toString());
  ASSERT_EQ(layout.outputs().size(), shape.size());
  for (size_t axis = 0; axis < shape.size(); ++axis)
    EXPECT_EQ(layout.outputs()[axis], (LinearLayout::Output{tileDim(int(axis)), shape[axis]}));
  ASSERT_EQ(layout.inputs().size(), 3u);
  EXPECT_EQ(layout.inputSize(Dim::Lane), lanes);
  EXPECT_EQ(layout.inputSize(Dim::Warp), warps);
  EXPECT_EQ(layout.freeBits(Dim::Register), 0u);
  int64_t copies =
      int64_t(1) << (std::popcount(layout.freeBits(Dim::Lane)) + std::popcount(layout.freeBits(Dim::Warp)));
  std::vector<int64_t> count(size_t(1) << layout.totalOutputBits());
  for (int64_t element : flatTable(layout))
    ++count[size_t(element)];
  for (int64_t each : count)
    ASSERT_EQ(each, copies);
}

} // namespace heddle::layout
