// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the environment says of simulated devices: HEDDLE_SIM_POLICY, HEDDLE_SIM_SCHEDULE, HEDDLE_SIM_SEED and
// HEDDLE_SIM_CHECKS, in the simulator's words.
#pragma once
#include "simulator/Simulator.h"
#include <string>

namespace heddle {

/// Throws Error{Input} naming the variable for what the simulator does not know.
simulator::SimulationOptions simulationOptions();

/// The message of the error that simulationOptions() would throw because of this variable; empty when there is none,
/// and for variables of others.
std::string simulationProblem(const std::string &variable);

} // namespace heddle
