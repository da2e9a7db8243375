// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order of the elements of rows as HLO's own operations: of short rows by their ranks (ReadSort.cpp), of long ones
// by a network of comparisons (ReadNetwork.cpp).
#pragma once
#include "frontend/hlo/ParseInstruction.h"

namespace heddle::hlo {

struct InstructionParser::SortOrder {
  /// Whether elements come before others: arrays of one shape, one of each key; pred. The parser is that of the
  /// computation to which it is appended.
  using ComesBefore = std::function<int(InstructionParser &, const std::vector<int> &, const std::vector<int> &)>;

  InstructionParser &parser;
  Location at;
  std::vector<int> keys; ///< [batch, n]
  ComesBefore comesBefore;

  /// Rows of so few elements, and so few pairs in all rows, are ordered by ranks, which is faster.
  static constexpr int64_t mostOfRanks = 16, mostPairs = 1 << 16;

  /// s32 [batch, count]: the numbers of the elements that come first, in their order; equal ones keep theirs.
  int first(int64_t count);

  int byRanks();                ///< [batch, n]
  int byNetwork(int64_t count); ///< [batch, count or more]
  /// A network for each row of an order [batch, rows, elements]. Numbers of n and more come last.
  int sorted(int order, bool hasPadding);
  /// The order after a step; the state is the order before it and the keys.
  int step(InstructionParser &inner, const std::vector<int> &state, int mask, bool hasPadding);
};

} // namespace heddle::hlo
