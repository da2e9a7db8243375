// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LLVM's command-line options are global, and LLD sets all of them back when it begins. Code is generated with ours.
#pragma once
#include "llvm/ADT/STLFunctionalExtras.h"
#include <shared_mutex>

namespace heddle {

/// Once the targets are registered, and after everything that sets options back.
void setLlvmOptions();
/// While one of these is held the options stay as they are: code is being generated.
std::shared_lock<std::shared_mutex> keepLlvmOptions();
/// Calls `link`, which may use LLD, while no thread generates code; afterwards the options are ours again.
void withLld(llvm::function_ref<void()> link);

} // namespace heddle
