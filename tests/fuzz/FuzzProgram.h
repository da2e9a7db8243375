// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A generated program: its text, what to run it on, and how its results may be compared.
#pragma once
#include "tests/reference/Evaluator.h"

namespace heddle::fuzz {

/// How one buffer is compared after a run.
struct OutputRule {
  size_t argument = 0;     ///< index among the arguments
  std::string elementType; ///< in MLIR notation; decides how elements are read
  double tolerance = 0;    ///< absolute, per element; 0 asks for the same bits (any NaN equals any NaN)
  bool looseZero = false;  ///< +0 and -0 are the same
};

struct FuzzProgram {
  uint64_t seed = 0;
  std::string text;
  reference::Grid grid;
  std::vector<reference::Argument> arguments;
  std::vector<std::string> argumentNotes; ///< one per argument: type and how it was filled
  std::vector<OutputRule> outputs;
};

} // namespace heddle::fuzz
