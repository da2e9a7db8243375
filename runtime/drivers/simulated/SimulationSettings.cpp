// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads each variable with the simulator's own parser, and names the variable in its error.
#include "runtime/drivers/simulated/SimulationSettings.h"
#include "support/Error.h"
#include "support/Knobs.h"
#include <fmt/format.h>

namespace heddle {
namespace {

using simulator::SimulationOptions;

struct Setting {
  const char *variable;
  void (*read)(SimulationOptions &options);
};

constexpr Setting settings[] = {
    {"HEDDLE_SIM_POLICY", [](SimulationOptions &all) { all.policy = simulator::parsePolicy(simulationPolicy()); }},
    {"HEDDLE_SIM_SCHEDULE",
     [](SimulationOptions &all) { all.schedule = simulator::parseSchedule(simulationSchedule()); }},
    {"HEDDLE_SIM_CHECKS", [](SimulationOptions &all) { all.checks = simulator::parseChecks(simulationChecks()); }},
};

void read(const Setting &setting, SimulationOptions &options) {
  try {
    setting.read(options);
  } catch (const Error &error) {
    throw Error(error.kind, fmt::format("environment variable {}: {}", setting.variable, error.what()), error.notes);
  }
}

} // namespace

SimulationOptions simulationOptions() {
  SimulationOptions options;
  for (const Setting &setting : settings)
    read(setting, options);
  options.seed = simulationSeed();
  options.threads = unsigned(hostThreads());
  return options;
}

std::string simulationProblem(const std::string &variable) {
  try {
    for (const Setting &setting : settings)
      if (SimulationOptions options; variable == setting.variable)
        read(setting, options);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

} // namespace heddle
