// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of drivers and the parsing of device names.
#include "runtime/Driver.h"
#include "runtime/drivers/cuda/CudaDriver.h"
#include "runtime/drivers/host/HostDriver.h"
#include "support/Error.h"
#include <charconv>
#include <fmt/format.h>

namespace heddle {
namespace {

std::string listDevices() {
  std::string list;
  for (Driver *driver : allDrivers()) {
    int count = driver->deviceCount();
    if (count == 0)
      continue;
    list += list.empty() ? "" : ", ";
    list += count == 1 ? driver->name() + ":0" : fmt::format("{0}:0 to {0}:{1}", driver->name(), count - 1);
  }
  return "the devices are " + list;
}

/// Drivers that the design names and that are not there yet.
bool isPlanned(const std::string &name) {
  return name == "hip" || name == "sim";
}

} // namespace

static std::vector<Driver *> &knownDrivers() {
  static std::vector<Driver *> drivers = {&hostDriver(), &cudaDriver()};
  return drivers;
}

const std::vector<Driver *> &allDrivers() {
  return knownDrivers();
}

void addDriver(Driver &driver) {
  for (const Driver *known : knownDrivers())
    if (known->name() == driver.name())
      throw inputError(fmt::format("there is a driver `{}` already", driver.name()));
  knownDrivers().push_back(&driver);
}

std::shared_ptr<Device> openDevice(const std::string &name) {
  size_t colon = name.find(':');
  std::string driverName = name.substr(0, colon);
  Driver *driver = nullptr;
  for (Driver *candidate : allDrivers())
    if (candidate->name() == driverName)
      driver = candidate;
  if (!driver && isPlanned(driverName))
    throw environmentError(fmt::format("device `{}`: the driver {} is not built yet", name, driverName),
                           {listDevices()});
  if (!driver)
    throw inputError(fmt::format("device `{}`: unknown driver `{}`", name, driverName), {listDevices()});

  if (driver->deviceCount() == 0)
    throw environmentError(fmt::format("device `{}`: there is none: {}", name, driver->problem()), {listDevices()});

  int ordinal = 0;
  if (colon != std::string::npos) {
    std::string digits = name.substr(colon + 1);
    auto [stop, status] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
    if (status != std::errc() || stop != digits.data() + digits.size() || ordinal < 0 ||
        ordinal >= driver->deviceCount())
      throw inputError(
          fmt::format("device `{}`: `{}` is not an ordinal from 0 to {}", name, digits, driver->deviceCount() - 1),
          {listDevices()});
  }
  return driver->open(ordinal);
}

} // namespace heddle
