// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether a kernel's result is that of another schedule too: a second run of what `heddle simulate` ran, compared bit
// for bit. It proves nothing; a difference says that `heddle check` is worth its time.
#pragma once
#include "api/SimulatedKernel.h"

namespace heddle {

/// `outcome` is that of a run with `options`, with the contents of all buffers.
ScheduleHint compareSchedules(const SimulatedKernel &kernel, const KernelOutcome &outcome,
                              const simulator::SimulationOptions &options);

} // namespace heddle
