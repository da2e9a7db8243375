// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The estimate of time of a simulated kernel: its options, and its report in the words of the API.
#pragma once
#include "api/SimulatedKernel.h"
#include "binary/AmdOccupancy.h"
#include "simulator/timing/Timing.h"

namespace heddle {

class KernelTiming {
public:
  /// Throws Error{Input} for a request whose run cannot be timed. `kernel` outlives it.
  explicit KernelTiming(const SimulatedKernel &kernel);

  simulator::Watcher &watcher() { return *timing; }
  /// After the run, in which the file's address 0 was at `codeBase`.
  SimulatedTiming report(uint64_t codeBase);

private:
  void addWaiting(const simulator::TimingReport &report, uint64_t codeBase, SimulatedTiming &result) const;

  const SimulatedKernel &kernel;
  const Chip &chip;
  AmdOccupancy occupancy;
  std::unique_ptr<simulator::TraceEvents> events; ///< null: not asked for
  std::unique_ptr<simulator::Timing> timing;
};

} // namespace heddle
