// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shortens large arrays, row by row, as NumPy does.
#include "tools/Arrays.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace heddle {

/// Arrays with more elements are shortened when printed for people.
constexpr int64_t printedElements = 1024;

static std::string formatRow(const Array &array, int64_t first, int64_t count) {
  std::vector<std::string> elements;
  int64_t stride = elementSizeBytes(array.type);
  for (int64_t i = first; i < first + count; ++i)
    elements.push_back(formatElement(array.type, array.bytes.data() + i * stride));
  return fmt::format("{}", fmt::join(elements, " "));
}

std::string formatArray(const Array &array) {
  int64_t total = countElements(array.shape);
  int64_t rowLength = array.shape.empty() ? 1 : array.shape.back();
  std::string text = fmt::format("{}: {}{}\n", array.name, elementTypeName(array.type), formatShape(array.shape));
  for (int64_t first = 0; first < std::min(total, printedElements); first += rowLength)
    text += formatRow(array, first, std::min(rowLength, printedElements - first)) + "\n";
  if (total > printedElements)
    text += fmt::format("... {} more\n", total - printedElements);
  return text;
}

nlohmann::ordered_json arrayAsJson(const Array &array, const std::string &file) {
  nlohmann::ordered_json json = {{"name", array.name}, {"type", elementTypeName(array.type)}, {"shape", array.shape}};
  if (file != "-") {
    json["file"] = file;
    return json;
  }
  int64_t stride = elementSizeBytes(array.type), total = countElements(array.shape);
  json["elements"] = nlohmann::ordered_json::array();
  for (int64_t i = 0; i < total; ++i) {
    const char *at = array.bytes.data() + i * stride;
    if (isFloat(array.type) && !std::isfinite(loadDouble(array.type, at)))
      json["elements"].push_back(formatElement(array.type, at)); // JSON has no number for it
    else if (isFloat(array.type))
      json["elements"].push_back(loadDouble(array.type, at));
    else if (array.type == ElementType::UI64)
      json["elements"].push_back(uint64_t(loadInt(array.type, at)));
    else
      json["elements"].push_back(loadInt(array.type, at));
  }
  return json;
}

} // namespace heddle
