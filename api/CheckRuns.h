// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The runs of a check and how they are compared: what checkKernel and mutateKernel have in common.
#pragma once
#include "api/Check.h"
#include "api/SimulatedKernel.h"
#include <atomic>
#include <chrono>

namespace heddle {

/// Calls `work(i)` for every i below `count` on several threads. Throws what the first of them in order threw.
void runInParallel(size_t count, unsigned threads, const std::function<void(size_t)> &work);

/// The runs to make, most telling reference first: every policy but random with every schedule but random, and random
/// ones. Seeds of leap-frog say which wave or workgroup runs first, those of frozen which one is stopped; their number
/// is limited.
std::vector<RunChoice> planRuns(const SimulatedKernel &kernel, unsigned schedules);

simulator::SimulationOptions optionsOf(const SimulatedKernel &kernel, const RunChoice &choice);

/// The first element at which a buffer differs between two runs.
struct Difference {
  size_t buffer = 0;
  int64_t element = 0, elements = 0; ///< the first one, and how many differ
  std::string here, there;
  std::optional<simulator::ReportLine>
      unwritten; ///< a store that brought what nothing had written, when that is what the element holds
};
/// Compares contents; `ignored` are buffers that may differ.
std::vector<Difference> compareOutcomes(const SimulatedKernel &kernel, const KernelOutcome &here,
                                        const KernelOutcome &there, const std::vector<bool> &ignored);
std::vector<bool> ignoredBuffers(const SimulatedKernel &kernel, const std::vector<std::string> &names);

/// Whether a check is to end: its time is over, or it is cancelled.
class Deadline {
public:
  explicit Deadline(const CheckRequest &request) : request(request) {}
  bool isOver() const {
    std::chrono::duration<double> limit(request.timeLimitSeconds), passed = std::chrono::steady_clock::now() - begin;
    return (limit.count() > 0 && passed > limit) || (request.isCancelled && request.isCancelled());
  }

private:
  const CheckRequest &request;
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
};

/// The outcomes of the good object's runs, in the plan's order.
struct CheckedRuns {
  std::vector<RunChoice> plan;
  std::vector<std::optional<KernelOutcome>> outcomes; ///< without contents, but for the first that has any
  std::vector<std::vector<Difference>> differences;   ///< from `reference`
  size_t reference = 0;                               ///< the run with whose contents the other runs are compared
  bool gaveUp = false;                                ///< a run did not end before any run was complete
};
CheckedRuns makeRuns(const SimulatedKernel &kernel, const CheckRequest &request);
CheckResult summarise(const SimulatedKernel &kernel, const CheckRequest &request, const CheckedRuns &runs);

} // namespace heddle
