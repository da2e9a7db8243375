// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Comparing two runs of one program by its output rules.
#pragma once
#include "tests/executors/Executor.h"
#include "tests/fuzz/FuzzProgram.h"
#include <optional>

namespace heddle::fuzz {

using namespace executors;

/// Why two executors disagree about a program.
struct Difference {
  std::string message; ///< buffer, first differing element, both values; or the error of one executor
  std::string failure; ///< that error without numbers of places; empty for a wrong value
};

std::optional<Difference> compareOutputs(const FuzzProgram &program, const std::vector<reference::Argument> &expected,
                                         const std::vector<reference::Argument> &actual);

/// Runs `program` on the reference evaluator and on `executor`. An error of the reference, or a result that depends on
/// what the language leaves open, is a fault of the generator and is thrown as Error{Internal}.
std::optional<Difference> checkProgram(const FuzzProgram &program, Executor &executor);

} // namespace heddle::fuzz
