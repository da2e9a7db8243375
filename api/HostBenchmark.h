// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Measures collectives of ranks on several hosts, as CollectiveBenchmark does those of one.
#pragma once
#include "api/CollectiveTiming.h"
#include "collectives/hosts/HostCommunicator.h"
#include "runtime/HostGroup.h"

namespace heddle {

class HostBenchmark {
public:
  /// Collective. Throws Error{Input} for options that are for one host, and what HostGroup throws.
  HostBenchmark(Bootstrap &bootstrap, std::shared_ptr<Device> device, const HostSurvey &survey,
                BenchmarkRequest request);

  int rank() const { return group->group().rank(); }
  std::vector<std::string> deviceNames() const;
  std::string deviceDescription() const;
  HostsDescription describeHosts() const;
  BenchmarkRow measure(int64_t bytes); ///< as CollectiveBenchmark's

private:
  struct Memory;
  void checkMemory(const Collective &collective) const;
  CollectiveCalls calls(HostCommunicator::Operation &operation, const Memory &memory, int place);
  BenchmarkTimes time(const Collective &collective, const CollectiveCalls &calls) const;
  void check(const HostPlan &plan, const Memory &memory, HostCommunicator::Operation &operation, uint64_t seed,
             BenchmarkRow &row);
  GatherTexts gatherer();

  BenchmarkRequest request;
  std::unique_ptr<HostCommunicator> group;
};

} // namespace heddle
