// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A driver of the runtime whose devices run the code for sm_90 in the thread interpreter: programs on several devices
// run without a GPU, all devices on one thread, in an order that a seed chooses. Races in device memory are errors of
// the streams. It is no part of the runtime: tests add it.
#pragma once
#include "chips/Chip.h"
#include "runtime/Driver.h"
#include "tests/thread_interpreter/ThreadInterpreter.h"
#include <functional>

namespace heddle::threads {

/// Devices are threads:0 to threads:7.
inline constexpr int deviceCount = 8;

/// sm_90 under another name, whose packages hold the code of one thread.
const Chip &threadsChip();

/// Adds the driver to those of the runtime, once.
void useThreadsDriver();

/// How devices take turns from now on; until the first call each group of launches has its own policy and seed.
void setSchedule(Policy policy, uint64_t seed);

/// Is shown the code of each kernel that is loaded from now on and may change it: for planting faults. Kernels that
/// were loaded before stay as they are.
using CodeChange = std::function<void(llvm::Module &module)>;
void setCodeChange(CodeChange change);

/// What was found since the last call, or since a stream reported it.
std::vector<Finding> takeFindings();

} // namespace heddle::threads
