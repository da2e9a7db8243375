// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The JSON object of one place.
#include "tools/Places.h"

namespace heddle {

nlohmann::ordered_json placesAsJson(const std::vector<InstructionPlace> &places) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const InstructionPlace &place : places) {
    nlohmann::ordered_json &json = list.emplace_back(nlohmann::ordered_json{{"pc", place.pc}});
    if (place.file.empty())
      continue;
    json["file"] = place.file;
    json["line"] = place.line;
    if (place.column)
      json["column"] = place.column;
  }
  return list;
}

} // namespace heddle
