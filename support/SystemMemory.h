// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How much memory this machine has and could still give, so that too large a buffer is refused instead of having the
// system kill the process.
#pragma once
#include <cstdint>

namespace heddle {

/// Bytes of memory in this machine.
uint64_t physicalMemoryBytes();

/// Bytes that could be used now without taking them from another process, swap included; at most what the control group
/// of this process (a container) leaves.
uint64_t availableMemoryBytes();

} // namespace heddle
