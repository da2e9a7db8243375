// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes a failing program smaller while it keeps failing.
#pragma once
#include "tests/fuzz/Compare.h"

namespace heddle::fuzz {

/// Tries to drop each operation (a result becomes zero) until nothing more can go or `attempts` are used up. Returns
/// the smallest program that still fails as `original` says, which may be the program itself.
FuzzProgram reduceProgram(const FuzzProgram &program, Executor &executor, const Difference &original,
                          int attempts = 500);

} // namespace heddle::fuzz
