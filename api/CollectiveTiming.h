// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How long calls on all ranks take, one by one or in graphs: the same for Heddle's collectives and for other libraries.
#pragma once
#include "api/Collectives.h"

namespace heddle {

class Device;
class Stream;

/// A collective that is ready to be called.
struct CollectiveCalls {
  std::vector<Device *> devices; ///< of each rank
  std::vector<Stream *> streams; ///< of each rank
  std::function<void()> launch;  ///< one call, put into all streams
  std::function<void()> finish;  ///< waits for all streams and looks for failures
  /// Of ranks in several processes, else empty: makes each number the largest of all processes'. All wait for all.
  std::function<void(std::vector<double> &)> slowest;
};

/// What each process gave.
using GatherTexts = std::function<std::vector<std::string>(const std::string &mine)>;
/// Makes each number the largest of all processes'.
void takeSlowest(const GatherTexts &gather, std::vector<double> &times);
/// Makes the wrong elements those of all processes, and the first of them the first of any.
void gatherWrong(const GatherTexts &gather, BenchmarkTimes &times);

/// All but the bandwidths, and what was wrong.
BenchmarkTimes timeCollective(const CollectiveCalls &calls, const BenchmarkRequest &request);

} // namespace heddle
