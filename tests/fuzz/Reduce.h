// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes a failing program smaller while it keeps failing.
#pragma once
#include "tests/fuzz/Compare.h"

namespace heddle::fuzz {

/// Tries to drop each operation (a result becomes zero) until nothing more can go or `attempts` are used up. Returns
/// the smallest program whose difference persists, which may be the program itself.
FuzzProgram reduceProgram(const FuzzProgram &program, Executor &executor, int attempts = 500);

} // namespace heddle::fuzz
