// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prints and parses configurations, in the order of their names.
#include "autotune/Configuration.h"
#include "support/Error.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle::autotune {

constexpr const char *defaultText = "default";

std::string textOf(const Configuration &configuration) {
  std::string text;
  for (const auto &[name, value] : configuration)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, value);
  return text.empty() ? defaultText : text;
}

Configuration parseConfiguration(const std::string &text) {
  Configuration configuration;
  for (size_t start = 0; text != defaultText && start <= text.size();) {
    size_t end = std::min(text.find(',', start), text.size()), equals = text.find('=', start);
    if (equals >= end || equals == start || equals + 1 == end)
      throw inputError(
          fmt::format("`{}` is no configuration: `{}` is not NAME=VALUE", text, text.substr(start, end - start)),
          {fmt::format("one is `{}`, or as `block_k=64,warps=4`", defaultText)});
    if (!configuration.emplace(text.substr(start, equals - start), text.substr(equals + 1, end - equals - 1)).second)
      throw inputError(
          fmt::format("`{}` is no configuration: it has `{}` twice", text, text.substr(start, equals - start)));
    start = end + 1;
  }
  return configuration;
}

} // namespace heddle::autotune
