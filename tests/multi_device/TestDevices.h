// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The devices that tests of several devices run on: those of the driver that HEDDLE_TEST_DEVICE names, or of the host.
#pragma once
#include "runtime/Device.h"
#include "runtime/Driver.h"
#include "runtime/drivers/simulated/SimulatedDriver.h"
#include "support/Error.h"
#include "support/TestDevice.h"
#include "tests/threads_driver/ThreadsDriver.h"
#include <cstdlib>

namespace heddle::testing {

/// Its name, when the runtime knows it.
inline std::string driverName() {
  if (testDriver() == "threads")
    threads::useThreadsDriver();
  addSimulatedDrivers();
  return testDriver();
}

/// Whether `./dev test --long` runs: every combination, where the short form has one for each code path.
inline bool isLong() {
  const char *text = std::getenv("HEDDLE_TEST_LONG");
  return text && *text;
}

inline Driver &driverUnderTest() {
  std::string name = driverName();
  for (Driver *driver : allDrivers())
    if (driver->name() == name)
      return *driver;
  throw inputError("no driver is called `" + name + "`");
}

inline const Chip &chipUnderTest() {
  static std::shared_ptr<Device> first = openDevice(driverName() + ":0");
  return first->chip();
}

inline std::vector<std::shared_ptr<Device>> openDevices(const std::string &driver, const std::vector<int> &ordinals) {
  std::vector<std::shared_ptr<Device>> devices;
  for (int ordinal : ordinals)
    devices.push_back(openDevice(driver + ":" + std::to_string(ordinal)));
  return devices;
}

inline std::vector<std::shared_ptr<Device>> openDevices(const std::vector<int> &ordinals) {
  return openDevices(driverName(), ordinals);
}

/// Whether the devices are a program that runs while a host thread waits for them.
inline bool runWhenWaitedFor() {
  std::string driver = driverName();
  return driver == "threads" || driver.starts_with("sim:") ||
         (driver == "hip" && openDevice("hip:0")->description().starts_with("Simulated GPU"));
}

/// Devices 0 to count - 1.
inline std::vector<std::shared_ptr<Device>> openFirstDevices(int64_t count) {
  std::vector<int> ordinals;
  for (int ordinal = 0; ordinal < count; ++ordinal)
    ordinals.push_back(ordinal);
  return openDevices(ordinals);
}

inline bool hasDevices(int64_t count) {
  return driverUnderTest().deviceCount() >= count;
}

} // namespace heddle::testing
