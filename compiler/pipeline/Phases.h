// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of phases, as help, documents and tests see it. Compilation.h has what the driver needs besides.
#pragma once
#include <string>
#include <vector>

namespace heddle {

struct PhaseDescription {
  std::string name;
  std::string level;    ///< of what it leaves: tile, vector, simt, thread, llvm, binary
  std::string sentence; ///< what it does
  std::string passes;   ///< as heddle-opt takes them; empty when the phase is none for modules
  bool resumes = false; ///< compilation can go on from its text (CompileOptions::resumeAfter)
};

/// The phases for a target, in order. Throws Error{Input} for one that does not exist.
std::vector<PhaseDescription> describePhases(const std::string &target = "host");

} // namespace heddle
