// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests of collectives on simulated devices of AMD's chips, whatever HEDDLE_TEST_DEVICE says.
#pragma once
#include "tests/multi_device/Cases.h"
#include <cstdlib>

namespace heddle::testing {

/// Devices 0 to ranks - 1 of `sim:gfx942` or `sim:gfx950`.
inline std::vector<std::shared_ptr<Device>> amdDevices(const std::string &chip, int ranks) {
  addSimulatedDrivers();
  return openDevices("sim:" + chip, firstOrdinals(ranks));
}

/// The schedule from the next launch on that runs alone, and the checks; as the environment found it afterwards.
class SimulatedOrder {
public:
  SimulatedOrder(const std::string &policy, const std::string &schedule, uint64_t seed,
                 const std::string &checks = "default")
      : settings{{"HEDDLE_SIM_POLICY", policy},
                 {"HEDDLE_SIM_SCHEDULE", schedule},
                 {"HEDDLE_SIM_SEED", std::to_string(seed)},
                 {"HEDDLE_SIM_CHECKS", checks}} {
    for (Setting &setting : settings) {
      if (const char *text = std::getenv(setting.name))
        setting.before = text;
      ::setenv(setting.name, setting.value.c_str(), 1);
    }
  }
  ~SimulatedOrder() {
    for (const Setting &setting : settings)
      setting.before.empty() ? ::unsetenv(setting.name) : ::setenv(setting.name, setting.before.c_str(), 1);
  }
  SimulatedOrder(const SimulatedOrder &) = delete;
  SimulatedOrder &operator=(const SimulatedOrder &) = delete;

private:
  struct Setting {
    const char *name;
    std::string value, before = "";
  };
  Setting settings[4];
};

} // namespace heddle::testing
