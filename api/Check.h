// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether a kernel of an AMD code object is right under many schedules that the memory model allows, extreme ones
// included: it runs under many policies and schedules with all checks, and its results are compared bit for bit.
#pragma once
#include "api/Simulate.h"
#include "simulator/state/Severity.h"

namespace heddle {

struct CheckInfoText {
  std::string name, justification;
};
/// The checks of the simulator, followed by those that compare runs.
std::vector<CheckInfoText> kernelChecks();

struct CheckRequest {
  SimulateRequest run;                     ///< policy, schedule, seed, outputs, trace and step are ignored
  unsigned schedules = 8;                  ///< seeds of random runs; at most as many of leap-frog and frozen ones
  double timeLimitSeconds = 0;             ///< 0: none
  std::function<bool()> isCancelled;       ///< asked now and then, on any thread; ends as the time limit does
  unsigned threads = 0;                    ///< 0: one for each core
  std::vector<std::string> allowDifferent; ///< buffers whose bits may differ between runs
  simulator::Severity minSeverity = simulator::Severity::Low; ///< findings below it are left out and do not count
  std::function<void(size_t done, size_t all)> progress;      ///< called on any thread, one call at a time
};

/// The policy, schedule and seed of one run.
struct RunChoice {
  std::string policy, schedule;
  uint64_t seed = 0;
  uint64_t instructionLimit = 0; ///< 0: the request's, or the default
  std::string text() const;      ///< `latest, leap-frog, seed 2`
};

struct CheckFinding {
  std::string kind;                          ///< a check's name, `result`, `fault` or `no-end`
  std::string text;                          ///< several lines, ending with one
  std::vector<InstructionPlace> places = {}; ///< of the instructions that the text names, in its order
  RunChoice run;                             ///< the first that found it
  size_t runs = 1;                           ///< that found it
  uint64_t firstPc = 0, secondPc = 0;
  simulator::Severity severity = simulator::Severity::High; ///< how likely hardware is to show it,
  std::string reason = "";                                  ///< and why
  std::optional<uint64_t> instructions = {},
                          cycles = {}; ///< between the two accesses, where they have a time in common
};

struct CheckResult {
  std::string kernel, chip;
  size_t planned = 0, ended = 0; ///< runs
  std::vector<CheckFinding> findings;
  size_t leftOut = 0;                    ///< findings below the request's severity
  size_t leftOutResults = 0;             ///< those of them that are results that differ
  std::vector<std::string> approximated; ///< instructions that ran and whose bits the manual does not say
  std::vector<std::string> notes;        ///< what is no finding: reads of slack
  std::vector<std::string> reasons;      ///< why it is not clean although there may be no finding
  uint64_t instructions = 0;             ///< of waves, of all runs
  double seconds = 0;                    ///< of all processors
  bool isClean() const { return findings.empty() && reasons.empty(); }
};

/// Throws Error{Input} for an object or arguments that do not fit.
CheckResult checkKernel(const std::string &file, const std::string &name, const CheckRequest &request);

} // namespace heddle
