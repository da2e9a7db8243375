// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What times candidates: a device by its events, the host by its clock, the simulator by an estimate, or a test.
#pragma once
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace heddle::autotune {

/// A candidate that cannot be used; the search goes on without it.
struct CandidateFailure : std::runtime_error {
  /// `kind` is that of Failure (Database.h). `isLost`: nothing more can be measured in this process, as after an
  /// illegal access on a GPU.
  CandidateFailure(std::string kind, const std::string &reason, bool isLost = false)
      : std::runtime_error(reason), kind(std::move(kind)), isLost(isLost) {}
  std::string kind;
  bool isLost;
};

/// Candidates are numbers; 0 is the default, whose results are what the others must give.
class Clock {
public:
  virtual ~Clock() = default;

  /// Every measurement of a candidate gives the same time, so one suffices.
  virtual bool isExact() const { return false; }
  /// These come soon, in this order; a clock may compile them at the same time.
  virtual void expect(const std::vector<size_t> &) {}
  /// Compiles a candidate, runs it once and compares its results with those of candidate 0. Before its first
  /// measurement, and again after `release`. Throws CandidateFailure; any other exception ends the search, which can be
  /// resumed.
  virtual void prepare(size_t candidate) = 0;
  /// Microseconds of a call: the median of some calls in a row. Throws as prepare.
  virtual double measure(size_t candidate) = 0;
  /// It is not measured for a while.
  virtual void release(size_t) {}
};

} // namespace heddle::autotune
