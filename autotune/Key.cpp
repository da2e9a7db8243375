// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The declared parts with their checks, and the distance between two keys.
#include "autotune/Key.h"
#include "autotune/Configuration.h"
#include "support/Error.h"
#include "support/Hash.h"
#include "support/Suggest.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::autotune {

const std::vector<KeyPart> &keyParts() {
  static const std::vector<KeyPart> parts = {
      {"kernel", "name in the library", false},
      {"kernel_version", "hash of the programs that its definition writes", false},
      {"compiler", "versions of heddle and LLVM", true},
      {"chip", "what code is generated for", false},
      {"device", "product: chips of one name differ in memory and multiprocessors", false},
      {"driver", "version of the driver", true},
      {"clock", "how time was measured", true},
      {"types", "element type of each input", false},
      {"strides", "of each input, by dimension: 1, a multiple of 16, or any", false},
      {"alignment", "bytes of which each address is a multiple", false},
      {"extents", "every extent of the inputs", true},
      {"options", "options that change results", false},
      {"fixed", "options and tile parameters that the caller chose, and the tuner did not; - for none", false},
  };
  return parts;
}

Key::Key(std::map<std::string, std::string> given) : parts(std::move(given)) {
  std::vector<std::string> known, missing;
  for (const KeyPart &part : keyParts()) {
    known.push_back(part.name);
    auto found = parts.find(part.name);
    if (found == parts.end())
      missing.push_back(part.name);
    else if (found->second.empty())
      throw inputError(fmt::format("the part `{}` of a tuning key is empty", part.name), {part.sentence});
  }
  for (const auto &[name, value] : parts)
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      std::string closest = closestName(name, known);
      throw inputError(fmt::format("a tuning key has no part `{}`", name),
                       {closest.empty() ? fmt::format("its parts are {}", fmt::join(known, ", "))
                                        : fmt::format("the closest is `{}`", closest)});
    }
  if (!missing.empty())
    throw inputError(fmt::format("a tuning key lacks `{}`", fmt::join(missing, "`, `")),
                     {fmt::format("its parts are {}", fmt::join(known, ", "))});
}

std::string Key::id() const {
  std::string text;
  for (const auto &[name, value] : parts)
    text += name + '\n' + value + '\n';
  return hashHex(text).substr(0, 12);
}

std::map<std::string, long long> numbersOf(const std::string &part) {
  std::map<std::string, long long> numbers;
  for (const auto &[name, text] : parseConfiguration(part)) {
    long long &value = numbers[name];
    auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc() || stop != text.data() + text.size())
      throw inputError(fmt::format("`{}`: `{}` is no whole number", part, text));
  }
  return numbers;
}

} // namespace heddle::autotune
