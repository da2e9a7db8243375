// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A workgroup that is alive on a machine.
#pragma once
#include "simulator/machine/Machine.h"

namespace heddle::simulator {

/// A workgroup and what its waves have in flight, used again for later workgroups.
struct KernelRun::Resident {
  Workgroup group;
  std::vector<PendingRequests> pending;
};

} // namespace heddle::simulator
