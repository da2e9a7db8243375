// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The inside of a linear layout: a matrix over F2, one word for each bit of the inputs, in which the outputs lie side
// by side, the first in the low bits. Only the sources of LinearLayout include this.
#pragma once
#include "compiler/layout/LinearLayout.h"
#include "support/Error.h"
#include <bit>
#include <fmt/format.h>

namespace heddle::layout {

inline int bitsOf(int64_t size, const char *what) {
  if (size <= 0 || !std::has_single_bit(uint64_t(size)))
    throw internalError(fmt::format("layout: {} is {}, not a power of two", what, size));
  return std::countr_zero(uint64_t(size));
}

inline uint64_t lowMask(int bits) {
  return (uint64_t(1) << bits) - 1;
}

struct LinearLayout::Flat {
  std::vector<std::pair<Dim, int>> ins; ///< with bits
  std::vector<Output> outs;
  std::vector<uint64_t> words; ///< for each bit of each input in order

  bool operator==(const Flat &) const = default;

  int indexOfInput(Dim dim) const {
    for (size_t i = 0; i < ins.size(); ++i)
      if (ins[i].first == dim)
        return int(i);
    return -1;
  }
  int indexOfOutput(Dim dim) const {
    for (size_t i = 0; i < outs.size(); ++i)
      if (outs[i].dim == dim)
        return int(i);
    return -1;
  }
  int input(Dim dim) const {
    int index = indexOfInput(dim);
    if (index < 0)
      throw internalError(fmt::format("layout: no input '{}'", dimName(dim)));
    return index;
  }
  int output(Dim dim) const {
    int index = indexOfOutput(dim);
    if (index < 0)
      throw internalError(fmt::format("layout: no output '{}'", dimName(dim)));
    return index;
  }
  int inBits(Dim dim) const { return indexOfInput(dim) < 0 ? 0 : ins[indexOfInput(dim)].second; }
  int outBits(int index) const { return std::countr_zero(uint64_t(outs[index].size)); }
  int outBits(Dim dim) const { return indexOfOutput(dim) < 0 ? 0 : outBits(indexOfOutput(dim)); }
  /// Where the bits of the index-th input begin among the words.
  int start(int index) const {
    int sum = 0;
    for (int i = 0; i < index; ++i)
      sum += ins[i].second;
    return sum;
  }
  /// Where the index-th output begins within a word.
  int shift(int index) const {
    int sum = 0;
    for (int i = 0; i < index; ++i)
      sum += outBits(i);
    return sum;
  }
  /// The outputs of a word.
  std::vector<int64_t> split(uint64_t word) const {
    std::vector<int64_t> values;
    values.reserve(outs.size());
    for (size_t k = 0; k < outs.size(); word >>= outBits(int(k)), ++k)
      values.push_back(int64_t(word & lowMask(outBits(int(k)))));
    return values;
  }
  int64_t field(uint64_t word, int index) const { return int64_t(word >> shift(index) & lowMask(outBits(index))); }

  /// The words in the fields of another layout with the same outputs in the same order, of at least these sizes.
  std::vector<uint64_t> wordsIn(const Flat &wider) const;

  void check() const {
    size_t bits = 0;
    for (size_t i = 0; i < ins.size(); ++i) {
      bits += ins[i].second;
      if (indexOfInput(ins[i].first) != int(i))
        throw internalError(fmt::format("layout: input '{}' twice", dimName(ins[i].first)));
    }
    for (size_t i = 0; i < outs.size(); ++i) {
      bitsOf(outs[i].size, dimName(outs[i].dim));
      if (indexOfOutput(outs[i].dim) != int(i))
        throw internalError(fmt::format("layout: output '{}' twice", dimName(outs[i].dim)));
    }
    if (bits != words.size() || bits > 63 || shift(int(outs.size())) > 63)
      throw internalError(fmt::format("layout: {} input bits with {} bases, {} output bits", bits, words.size(),
                                      shift(int(outs.size()))));
  }
};

/// A word with its fields moved to other places; fields that no move names are dropped.
struct Placement {
  struct Move {
    int from, bits, to;
  };
  std::vector<Move> moves;

  uint64_t operator()(uint64_t word) const {
    uint64_t moved = 0;
    for (const Move &move : moves)
      moved |= (word >> move.from & lowMask(move.bits)) << move.to;
    return moved;
  }
};

} // namespace heddle::layout
