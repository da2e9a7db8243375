// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the rows found, as a table for people or as JSON; also how a row's process tells its parent.
#pragma once
#include "bench/Rows.h"
#include <nlohmann/json_fwd.hpp>

namespace heddle::bench {

nlohmann::json toJson(const Row &row, const Outcome &outcome);
/// The table, from what toJson gave for each row: the target beside the measured value, and the phases of compilations.
std::string table(const nlohmann::json &rows);

} // namespace heddle::bench
