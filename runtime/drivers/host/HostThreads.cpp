// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// std::thread cannot choose a stack, and throws where a number is wanted.
#include "runtime/drivers/host/HostThreads.h"
#include "support/Error.h"
#include <cerrno>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <mutex>
#include <pthread.h>

namespace heddle {

std::atomic<int> startableHostThreads{-1};

static void *threadMain(void *argument) {
  std::unique_ptr<std::function<void()>> body(static_cast<std::function<void()> *>(argument));
  (*body)();
  return nullptr;
}

static std::atomic<bool> threadsAreLost{false};

bool lostHostThreads() {
  return threadsAreLost.load(std::memory_order_relaxed);
}

void requireOwnThreads(const std::string &device) {
  if (lostHostThreads())
    throw environmentError(
        fmt::format("{}: this process was forked from one whose threads run host kernels, and has none of them",
                    device),
        {"fork before the first launch, or start a new process in place of the fork: "
         "`multiprocessing.set_start_method(\"spawn\")` in Python, fork and exec elsewhere"});
}

static bool mayStart() {
  int left = startableHostThreads.load();
  while (left >= 0) {
    if (left == 0)
      return false;
    if (startableHostThreads.compare_exchange_weak(left, left - 1))
      break;
  }
  return true;
}

int startHostThread(size_t stackBytes, const char *name, std::function<void()> body) {
  if (!mayStart())
    return EAGAIN;
  static std::once_flag watchesForks;
  std::call_once(watchesForks, [] { ::pthread_atfork(nullptr, nullptr, [] { threadsAreLost = true; }); });
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  ::pthread_attr_setstacksize(&attributes, stackBytes);
  auto *argument = new std::function<void()>([body = std::move(body), name] {
    ::pthread_setname_np(::pthread_self(), name);
    body();
  });
  pthread_t thread;
  int reason = ::pthread_create(&thread, &attributes, threadMain, argument);
  ::pthread_attr_destroy(&attributes);
  if (reason)
    delete argument;
  return reason;
}

std::string threadLimitNote() {
  return "set HEDDLE_HOST_THREADS lower, end other processes, or raise the limit on threads (`ulimit -u`, or the "
         "container's)";
}

int processThreadCount() {
  std::ifstream status("/proc/self/status");
  std::string word;
  int count = 0;
  while (status >> word)
    if (word == "Threads:" && status >> count)
      return count;
  return 0;
}

} // namespace heddle
