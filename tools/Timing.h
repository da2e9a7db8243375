// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The estimate of time that `heddle simulate --time` prints.
#pragma once
#include "api/Simulate.h"
#include <nlohmann/json_fwd.hpp>

namespace heddle {

std::string describeTiming(const SimulatedTiming &timing);
nlohmann::ordered_json timingAsJson(const SimulatedTiming &timing);

} // namespace heddle
