// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel of an AMD code object in the memory of a simulated device.
#pragma once
#include "runtime/Launch.h"
#include "runtime/drivers/simulated/SimulatedEngine.h"

namespace heddle {

class SimulatedModule : public Module {
public:
  /// Errors as Device::loadModule; `device` is the name of the device `ordinal`.
  static std::shared_ptr<SimulatedModule> load(SimulatedEngine &engine, const std::string &device, unsigned ordinal,
                                               const Package &package);
  ~SimulatedModule() override;

  /// Of a launch that has passed checkLaunch. Throws Error{Input} for a geometry that the kernel or the chip does not
  /// allow.
  simulator::Geometry geometryOf(const Launch &launch) const;
  std::string segmentOf(const Launch &launch) const; ///< the explicit arguments as the kernel finds them
  /// Where the launch's record is, for a package with sites.
  void setRecord(std::string &segment, uint64_t address) const;
  int64_t mostCooperative() const; ///< workgroups that the chip holds at once

  SimulatedEngine &engine;
  const unsigned ordinal;
  const std::string device;
  simulator::LoadedObject &loaded;
  const AmdKernel &kernel;

private:
  SimulatedModule(SimulatedEngine &engine, const std::string &device, unsigned ordinal, const Package &package,
                  simulator::LoadedObject &loaded);

  std::vector<AmdArgument> arguments;
};

} // namespace heddle
