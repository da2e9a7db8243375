// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Starting the host driver's threads, in one place, so that a test can let the system run out of them; and short waits.
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <sched.h>
#include <string>

namespace heddle {

/// Starts a detached thread; returns 0 or the error number. What `body` throws ends the process.
int startHostThread(size_t stackBytes, const char *name, std::function<void()> body);

/// True in a process that was forked from one that had started such threads: it has none of them, and what they held
/// locked stays locked.
bool lostHostThreads();

/// Throws Error{Environment} where lostHostThreads(); `device` is the name of the one that would have the work.
void requireOwnThreads(const std::string &device);

/// What can be done about a thread that does not start.
std::string threadLimitNote();

/// Threads of this process; 0 when the system does not tell.
int processThreadCount();

/// For tests: how many threads may still start; negative is any number.
extern std::atomic<int> startableHostThreads;

/// Waking a sleeping thread takes longer than a small launch, so a thread yields for a while before it sleeps. False
/// when the condition has not come in that time.
template <typename Condition>
bool spinFor(Condition condition) {
  auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(50);
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end)
      return false;
    ::sched_yield();
  }
  return true;
}

/// Enough for the kernels and for user code: HostStream and the pool.
inline constexpr size_t hostThreadStackBytes = size_t(8) << 20;

} // namespace heddle
