// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For the host driver's tests: packages and launches around functions of the test program, which stand for kernels.
#pragma once
#include "binary/HostAbi.h"
#include "runtime/DeviceTestSupport.h"
#include "runtime/Driver.h"
#include "runtime/drivers/host/HostModule.h"

namespace heddle {

inline Package testPackage(std::vector<PackageArgument> arguments = {}) {
  Package package;
  package.kernel = package.entry = "k";
  package.target = "host";
  package.binaryKind = "elf-shared-object";
  package.abiVersion = hostAbiVersion;
  package.arguments = std::move(arguments);
  return package;
}

inline Launch testLaunch(const Package &package, HostEntry entry, std::array<int64_t, 3> grid,
                         std::vector<LaunchArgument> arguments = {}) {
  Launch launch;
  launch.kernel = {HostModule::fromFunction(package, entry)};
  launch.grid = grid;
  launch.arguments = std::move(arguments);
  return launch;
}

/// Launches and synchronizes on a new stream of host:0.
inline void runTest(const Launch &launch) {
  auto stream = openDevice("host")->createStream();
  stream->launch(launch);
  stream->synchronize();
}

template <typename T>
T *pointer(uint64_t slot) {
  return reinterpret_cast<T *>(slot);
}

} // namespace heddle
