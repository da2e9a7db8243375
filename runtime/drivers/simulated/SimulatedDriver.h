// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AMD devices that the simulator executes, for programs that have none: a driver for each chip, `sim:gfx942` and
// `sim:gfx950`, with any number of devices that reach each other's memory. docs/simulator.md.
#pragma once
#include <memory>

namespace heddle {

class Driver;
struct Chip;

/// Devices of each driver: sim:gfx942:0 to sim:gfx942:63.
inline constexpr int simulatedDeviceCount = 64;

/// The driver of one chip's devices, unknown to openDevice.
std::unique_ptr<Driver> makeSimulatedDriver(const Chip &chip);

/// Adds the drivers to those of the runtime, once. They are a library of their own, because the simulator needs LLVM.
void addSimulatedDrivers();

} // namespace heddle
