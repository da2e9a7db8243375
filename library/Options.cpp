// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads options by a table of keys; an unknown or repeated key is an error with the keys there are.
#include "library/Options.h"
#include "library/Errors.h"
#include "support/Suggest.h"
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle {

std::vector<std::string> readStrings(const char *const *strings, size_t count, const char *parameter) {
  if (count > 0)
    requirePointer(strings, parameter, fmt::format("an array of {} strings", count).c_str());
  std::vector<std::string> read;
  for (size_t i = 0; i < count; ++i) {
    requirePointer(strings[i], fmt::format("{}[{}]", parameter, i).c_str(), "a string");
    read.push_back(strings[i]);
  }
  return read;
}

void readOptions(const char *const *options, size_t count, const OptionTable &table) {
  std::vector<std::string> keys;
  for (const auto &[key, take] : table)
    keys.push_back(key);
  for (const std::string &option : readStrings(options, count, "options")) {
    size_t equals = option.find('=');
    std::string key = option.substr(0, equals);
    if (equals == std::string::npos)
      throw inputError(fmt::format("the option `{}` is not `key=value`", option));
    auto found = table.find(key);
    if (found != table.end()) {
      found->second(option.substr(equals + 1));
      continue;
    }
    std::vector<std::string> notes;
    if (std::string close = closestName(key, keys); !close.empty())
      notes.push_back(fmt::format("the closest is `{}`", close));
    notes.push_back(fmt::format("the options are {}", fmt::join(keys, ", ")));
    throw inputError(fmt::format("unknown option `{}`", key), notes);
  }
}

int integerOption(const std::string &key, const std::string &value, int least, int most) {
  int number = 0;
  auto [stop, status] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (status != std::errc() || stop != value.data() + value.size() || number < least || number > most)
    throw inputError(fmt::format("the option `{}={}`: not an integer from {} to {}", key, value, least, most));
  return number;
}

bool truthOption(const std::string &key, const std::string &value, const char *others) {
  if (value == "true" || value == "1" || value == "on" || value == "auto")
    return true;
  if (value == "false" || value == "0" || value == "off")
    return false;
  throw inputError(fmt::format("the option `{}={}` is neither `true` nor `false`{}", key, value, others));
}

} // namespace heddle
