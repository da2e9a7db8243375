// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A random Gluon-like program: its text, its arguments, what they are after the run, and what the compiler must say.
// Its steps are independent of each other: each has its own random numbers, so that one can be left out.
#pragma once
#include "tests/reference/Evaluator.h"
#include <cstdint>
#include <string>
#include <vector>

namespace heddle::gluon_programs {

/// What the compiler must do.
struct Expectation {
  std::string fault;               ///< the rule broken on purpose, in words; empty: the program is legal
  std::string refusal;             ///< identifiers of rules (Rules.h) of which one must refuse it; empty: accepted
  bool isRightInOrder = false;     ///< accepted where the stages of warp pipelines are executed one after the other
  bool mayBeAccepted = false;      ///< a fault that the compiler may mend, with a warning
  std::vector<std::string> warned; ///< words of which each must be in a warning
  std::vector<std::string> silent; ///< words that are in no warning
};

struct GluonProgram {
  uint64_t seed = 0;
  std::vector<int> steps; ///< that it has
  std::string chip, text;
  int warps = 4, pipelines = 0; ///< `pipelines`: of warps
  std::vector<reference::Argument> arguments, expected;
  std::vector<std::string> notes, elements; ///< of arguments: type and size or value; type of elements, of buffers
  Expectation expectation;
};

/// How many steps the program of a seed has.
int stepCount(uint64_t seed);
/// Whether one of them is a warp pipeline, legal or not.
bool hasPipeline(uint64_t seed);
/// The program with these steps of its own; a step that lacks what it works on does nothing.
GluonProgram programOf(uint64_t seed, const std::vector<int> &steps);
GluonProgram programOf(uint64_t seed);

/// The program as a file: what it is, its arguments, its text.
std::string describe(const GluonProgram &program);

} // namespace heddle::gluon_programs
