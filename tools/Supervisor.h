// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tuning in a process of its own: a candidate may end it, or leave a GPU of no use to it, and the next one goes on
// without that candidate.
#pragma once
#include <string>

namespace heddle {

/// What a worker exits with after it lost its device.
inline constexpr int deviceLostCode = 75;

/// Whether this process can start itself again (tools/Ranks.h).
bool canSupervise();

/// Starts this program with its own words and `--worker TIME`, again after each loss of its device and each fault,
/// which is noted in the tuning database first. Returns the exit code of the last worker. Throws Error{Environment}
/// where a worker was killed by another signal, and after too many faults.
int superviseWorkers(const std::string &time);

/// Of a worker: ends when its parent does. True from the first SIGINT or SIGTERM on.
void becomeWorker();
bool isInterrupted();

} // namespace heddle
