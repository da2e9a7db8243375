// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Turns SIGSEGV, SIGBUS, SIGFPE and SIGILL of a kernel into a way out of it. Faults of other code go to the handlers
// that were there before.
#pragma once
#include "runtime/drivers/host/HostInstance.h"
#include <string>

namespace heddle {

/// While one lives, the handlers are installed; the last one puts the old handlers back.
class HostFaultScope {
public:
  HostFaultScope();
  HostFaultScope(const HostFaultScope &) = delete;
  ~HostFaultScope();
};

/// Names the instance whose kernel this thread is about to run; null afterwards.
void setFaultTarget(HostInstance *instance);

/// `segmentation fault`, `integer division by zero`, ...
std::string faultName(int signalNumber);

} // namespace heddle
