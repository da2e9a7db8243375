// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `heddle inspect` for AMD code: how what api/InspectCodeObject.h says is shown.
#pragma once
#include "api/InspectCodeObject.h"
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace heddle {

/// What a launch gives, in the order of positions; offsets and sizes in bytes of the argument block.
nlohmann::ordered_json argumentsAsJson(const AmdKernel &kernel);

/// Rows for formatTable: registers, LDS, scratch, occupancy, instructions.
std::vector<std::vector<std::string>> describeCode(const InspectedKernel &kernel);
/// What each wait waits for, and how many there are.
std::string describeWaits(const InspectedKernel &kernel);
/// `0x1900  s_load_dwordx2 s[0:1], s[2:3], 0x0  ; kernels.py:12`
std::string listInstructions(const InspectedKernel &kernel);
/// `resources`, `occupancy`, `code`, and with `waits` what describeWaits says.
void addCode(nlohmann::ordered_json &json, const InspectedKernel &kernel, bool waits);

} // namespace heddle
