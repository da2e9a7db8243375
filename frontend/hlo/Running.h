// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Running reductions as HLO's own operations (ReadRunning.cpp): of each element those up to it, or those from it on.
#pragma once
#include "frontend/hlo/ParseInstruction.h"

namespace heddle::hlo {

struct InstructionParser::Running {
  InstructionParser &parser;
  Location at;
  Computation region; ///< associative; what comes first in the row is its left side
  int64_t dimension;
  bool isBackward; ///< an element and those after it
  bool isWide;     ///< a sum or product of narrow floats, which is kept in f32

  /// Windows as long as the dimension, with initial values before the first element, or after the last.
  std::vector<int> reduce(std::vector<int> values, std::vector<int> initial);

  std::vector<int> scan(const std::vector<int> &values); ///< without the initial values
  bool isNeutral(int initial) const;
  int shifted(InstructionParser &inner, int value, int numbers);
  std::vector<int> combine(InstructionParser &inner, const std::vector<int> &left, const std::vector<int> &right);
  std::vector<int> select(InstructionParser &inner, int which, const std::vector<int> &values,
                          const std::vector<int> &others);
};

} // namespace heddle::hlo
