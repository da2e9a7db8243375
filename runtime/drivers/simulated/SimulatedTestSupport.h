// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For the tests of simulated devices: kernels of code objects that the build made, and buffers with contents.
#pragma once
#include "binary/AmdPackage.h"
#include "runtime/DeviceTestSupport.h"
#include "runtime/Driver.h"
#include "runtime/drivers/simulated/SimulatedDriver.h"
#include "support/File.h"
#include "support/TestPaths.h"
#include <cstdlib>

namespace heddle {

/// Sets a variable of the environment for one scope.
struct Setting {
  Setting(const char *name, const std::string &value) : name(name) { ::setenv(name, value.c_str(), 1); }
  ~Setting() { ::unsetenv(name); }
  const char *const name;
};

/// `file` without the chip: `kernels` or `peers`, for the chip of the device.
inline Package simulatedPackage(const std::string &file, const std::string &kernel, const std::string &chip = "gfx942",
                                int64_t threads = 64) {
  std::string name = file + "-" + chip + (file == "kernels" ? "-O3.hsaco" : ".hsaco");
  return packageOfCodeObject(readFile(buildPath("test/simulator/" + name)), name, kernel, threads);
}

inline std::shared_ptr<Device> openSimulated(const std::string &name) {
  addSimulatedDrivers();
  return openDevice(name);
}

/// A stream that also keeps its device, for a few lines a test.
struct TestStream {
  explicit TestStream(const std::string &name) : device(openSimulated(name)), stream(device->createStream()) {}

  template <typename T>
  Buffer buffer(const std::vector<T> &values, const std::string &name = "", Caching caching = Caching::Normal) {
    Buffer made = device->allocate(values.size() * sizeof(T), name, caching);
    stream->copyToDevice(made, values.data());
    stream->synchronize();
    return made;
  }
  template <typename T = uint32_t>
  std::vector<T> read(const Buffer &buffer) {
    return readBack<T>(*stream, buffer);
  }
  Launch launchOf(const Package &package, std::vector<LaunchArgument> arguments, int64_t grid = 1) {
    return {.kernel = {device->loadModule(package)}, .grid = {grid, 1, 1}, .arguments = std::move(arguments)};
  }

  std::shared_ptr<Device> device;
  std::unique_ptr<Stream> stream;
};

} // namespace heddle
