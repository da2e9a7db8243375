// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Descriptions that the C interface gives as JSON texts. Apart from Handles.h, as few of its users need JSON.
#pragma once
#include "library/Handles.h"
#include <nlohmann/json.hpp>

namespace heddle {

/// Gives the text of `description`; names that are not UTF-8 have replacement characters there.
inline void giveJson(heddle_text *place, const nlohmann::ordered_json &description) {
  give(place, TextObject{description.dump(2, ' ', false, nlohmann::json::error_handler_t::replace)});
}

} // namespace heddle
