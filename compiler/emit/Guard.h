// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LLVM and MLIR answer some inputs with abort, exit or a signal. This turns those into a message for the caller.
#pragma once
#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>

namespace heddle {

/// Runs `action` and returns an empty text, or what LLVM said when it gave up, or that it crashed. An exception of
/// `action` is caught and thrown again from here, so none passes through LLVM's frames. After a failure everything
/// that `action` worked on is in an unknown state and must be leaked, not destroyed. Nests, and works on any thread.
std::string runGuarded(llvm::function_ref<void()> action);

} // namespace heddle
