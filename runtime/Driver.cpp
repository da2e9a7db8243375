// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of drivers and the parsing of device names.
#include "runtime/Driver.h"
#include "runtime/drivers/cuda/CudaDriver.h"
#include "runtime/drivers/hip/HipDriver.h"
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

Driver *findDriver(const std::string &name) {
  for (Driver *driver : allDrivers())
    if (driver->name() == name)
      return driver;
  return nullptr;
}

/// There is no driver of this name: because it is none, or lacks its chip, or is not in this program.
Error unknownDriver(const std::string &device, const std::string &name) {
  for (const Driver *driver : allDrivers())
    if (driver->name().starts_with(name + ":") && !name.empty())
      return inputError(fmt::format("device `{}`: `{}` takes a chip, as in `{}`", device, name, driver->name()),
                        {listDevices()});
  if (name == "sim")
    return environmentError(fmt::format("device `{}`: this program has no simulated devices", device), {listDevices()});
  return inputError(fmt::format("device `{}`: unknown driver `{}`", device, name), {listDevices()});
}

} // namespace

std::string driverNameOf(const std::string &device) {
  for (const Driver *driver : allDrivers())
    if (device == driver->name() || device.starts_with(driver->name() + ":"))
      return driver->name();
  return device.substr(0, device.find(':'));
}

static std::vector<Driver *> &knownDrivers() {
  static std::vector<Driver *> drivers = {&hostDriver(), &cudaDriver(), &hipDriver()};
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
  std::string driverName = driverNameOf(name);
  Driver *driver = findDriver(driverName);
  if (!driver)
    throw unknownDriver(name, driverName);

  if (driver->deviceCount() == 0)
    throw environmentError(fmt::format("device `{}`: there is none: {}", name, driver->problem()), {listDevices()});

  int ordinal = 0;
  if (name.size() > driverName.size()) {
    std::string digits = name.substr(driverName.size() + 1);
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
