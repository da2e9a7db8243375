// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the JSON of reports says of the instructions that they name.
#pragma once
#include "api/Simulate.h"
#include <nlohmann/json.hpp>

namespace heddle {

/// An object for each, with its `pc`, and the `file`, `line` and `column` of its source where these are known.
nlohmann::ordered_json placesAsJson(const std::vector<InstructionPlace> &places);

} // namespace heddle
