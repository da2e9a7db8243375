// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The handler runs with its signal unblocked (SA_NODEFER), so that leaving it by _longjmp leaves no mask, and on
// its own stack, so that a stack overflow of a kernel can be reported too.
#include "runtime/drivers/host/HostFaults.h"
#include "support/Error.h"
#include <array>
#include <csignal>
#include <cstring>
#include <mutex>
#include <pthread.h>
#include <unistd.h>

namespace heddle {
namespace {

constexpr std::array<int, 4> signals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

std::mutex installMutex;
int installCount = 0;
std::array<struct sigaction, signals.size()> previous;

/// Each thread's instance; the first scope makes the key. No thread_local variable: a handler must not allocate, which
/// the first touch of one in a shared library may do, and the kind that never does (initial-exec) keeps the library
/// from being opened by dlopen. pthread_getspecific only reads.
pthread_key_t targetKey;
bool hasTargetKey = false;

void makeTargetKey() {
  if (hasTargetKey)
    return;
  if (int reason = ::pthread_key_create(&targetKey, nullptr))
    throw environmentError(std::string("this process has no key left for data of threads: ") + std::strerror(reason));
  hasTargetKey = true;
}

/// Gives a fault that is no kernel's to the handler that had the signal before.
void forward(int number, siginfo_t *info, void *context) {
  for (size_t i = 0; i < signals.size(); ++i) {
    if (signals[i] != number)
      continue;
    const struct sigaction &old = previous[i];
    if (old.sa_flags & SA_SIGINFO) {
      old.sa_sigaction(number, info, context);
    } else if (old.sa_handler == SIG_DFL || old.sa_handler == SIG_IGN) {
      ::signal(number, SIG_DFL); // the instruction faults again, now for good
    } else {
      old.sa_handler(number);
    }
  }
}

void onFault(int number, siginfo_t *info, void *context) {
  auto *instance = static_cast<HostInstance *>(::pthread_getspecific(targetKey));
  bool sent = info->si_code <= 0; // by kill or raise, not by an instruction
  // A handler before ours that wants nothing of it (LLVM's, while another thread compiles) steps back and raises
  // the signal again; the instruction then faults once more, for us.
  if (instance && instance->inKernel && info->si_code == SI_TKILL && info->si_pid == ::getpid())
    return;
  if (!instance || !instance->inKernel || sent)
    return forward(number, info, context);
  instance->inKernel = false;
  instance->reason = LeaveReason::Fault;
  instance->faultSignal = number;
  instance->address = reinterpret_cast<uint64_t>(info->si_addr);
  instance->addressKnown = info->si_code != SI_KERNEL; // a non-canonical address is not told
  _longjmp(instance->leave, 1);
}

bool isOurs(const struct sigaction &action) {
  return (action.sa_flags & SA_SIGINFO) && action.sa_sigaction == onFault;
}

} // namespace

HostFaultScope::HostFaultScope() {
  std::lock_guard lock(installMutex);
  makeTargetKey();
  if (installCount++ > 0)
    return;
  struct sigaction action = {};
  action.sa_sigaction = onFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  ::sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < signals.size(); ++i) {
    struct sigaction old;
    ::sigaction(signals[i], &action, &old);
    if (!isOurs(old)) // else it was put back by someone who had chained onto it
      previous[i] = old;
  }
}

HostFaultScope::~HostFaultScope() {
  std::lock_guard lock(installMutex);
  if (--installCount > 0)
    return;
  for (size_t i = 0; i < signals.size(); ++i) {
    struct sigaction current;
    ::sigaction(signals[i], &previous[i], &current); // one call, as every small launch makes it
    if (!isOurs(current))                            // someone chained onto ours
      ::sigaction(signals[i], &current, nullptr);
  }
}

void setFaultTarget(HostInstance *instance) {
  ::pthread_setspecific(targetKey, instance);
}

std::string faultName(int signalNumber) {
  switch (signalNumber) {
  case SIGSEGV:
    return "segmentation fault";
  case SIGBUS:
    return "bus error";
  case SIGFPE:
    return "integer division by zero or overflow";
  default:
    return "illegal instruction";
  }
}

} // namespace heddle
