// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which device a process has, and which memory processes can share on this machine: each way is tried.
#pragma once
#include "runtime/processes/Bootstrap.h"
#include <memory>
#include <string>
#include <vector>

namespace heddle {

class Device;

/// The device of the driver for the process of this rank: by its number among the processes of its host, as its
/// launcher says, or by its rank; modulo the number of devices.
std::shared_ptr<Device> openDeviceOfRank(const std::string &driver, int rank);

struct SharingReport {
  int rank = 0;                       ///< of this process
  std::vector<std::string> processes; ///< `rank 1 (host:1, pid 4711)`
  uint64_t openFiles = 0;             ///< that each process may have
  struct Way {
    std::string driver, name; ///< `cuda`, `CUDA descriptor`
    std::string problem;      ///< empty when it works
    double milliseconds = 0;  ///< that setting up, writing and reading took
  };
  std::vector<Way> ways; ///< of the drivers that all processes have devices of
};
/// Collective. Throws what makeBootstrap and Neighbours throw.
SharingReport examineSharing(const BootstrapOptions &options);

} // namespace heddle
