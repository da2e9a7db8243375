// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The door to the devices: every driver by name, and a device by its name.
#pragma once
#include "runtime/Device.h"
#include <memory>
#include <string>
#include <vector>

namespace heddle {

/// What joins two devices.
struct PeerLink {
  std::string kind; ///< `xGMI`, `PCIe`; empty: not known
  int hops = 0;     ///< links in a row; 1 is a link of the two
};

/// What went from one device to another.
struct PeerTraffic {
  int from = 0, to = 0; ///< ordinals
  uint64_t bytes = 0;   ///< that kernels read from there, or wrote there
  uint64_t requests = 0;
  /// The bytes in stretches of time, in each of which all devices together sent about as much; the same for all pairs.
  std::vector<uint64_t> windows;
};

class Driver {
public:
  virtual ~Driver() = default;
  virtual std::string name() const = 0;                  ///< `host`, `sim:gfx942`
  virtual int deviceCount() const = 0;                   ///< devices it could open now
  virtual bool isVirtual() const { return false; }       ///< its devices are a program, and all alike
  virtual std::string description() const { return ""; } ///< version and library, where there is one
  virtual std::string problem() const { return ""; }     ///< why deviceCount() is 0
  /// Whether kernels on device `from` may address memory of device `to`; both are ordinals of this driver.
  virtual bool canAccessPeer(int from, int to) const = 0;
  virtual PeerLink linkBetween(int /*from*/, int /*to*/) const { return {}; }
  /// From now on counts what devices send each other, from nothing, or does so no more. False where it cannot. Throws
  /// Error{Internal} when it is to begin while kernels run; it may end at any time.
  virtual bool countTraffic(bool /*on*/) { return false; }
  virtual std::vector<PeerTraffic> traffic() const { return {}; } ///< of each pair that sent something
  /// The same object for the same ordinal while it lives. `ordinal` is from 0 to deviceCount() - 1.
  virtual std::shared_ptr<Device> open(int ordinal) = 0;
};

/// Counts as long as it lives, however that ends.
class TrafficCount {
public:
  explicit TrafficCount(Driver &driver) : driver(driver), on(driver.countTraffic(true)) {}
  ~TrafficCount() {
    if (on)
      driver.countTraffic(false);
  }
  TrafficCount(const TrafficCount &) = delete;
  bool isOn() const { return on; } ///< else the driver cannot

private:
  Driver &driver;
  bool on;
};

/// The drivers of this build, and those that were added.
const std::vector<Driver *> &allDrivers();

/// Adds a driver that the runtime does not know: the tests' (tests/threads_driver/). It lives to the end of the
/// process; its name is new. To be called before anybody asks for devices.
void addDriver(Driver &driver);

/// The driver's name in that of a device, or of a driver: `sim:gfx942` of `sim:gfx942:3`. What names none is cut at the
/// first colon.
std::string driverNameOf(const std::string &device);

/// Opens `host:0`, or `host` for its first device. Throws Error{Input} for a name that means nothing or an ordinal
/// outside the driver's range, Error{Environment} for a driver that this build lacks.
std::shared_ptr<Device> openDevice(const std::string &name);

} // namespace heddle
