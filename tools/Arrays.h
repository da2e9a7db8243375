// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arrays for people and as JSON.
#pragma once
#include "api/Heddle.h"
#include <nlohmann/json.hpp>

namespace heddle {

/// A heading, then a line for each innermost row; a long array is shortened.
std::string formatArray(const Array &array);

/// With its elements when `file` is `-`, else with the file's name; what is not finite is a string.
nlohmann::ordered_json arrayAsJson(const Array &array, const std::string &file);

} // namespace heddle
