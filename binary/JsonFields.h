// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Descriptions in JSON: written so that equal ones give equal bytes, and read with every field held against its type.
#pragma once
#include "support/Error.h"
#include <fmt/format.h>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace heddle {

using Json = nlohmann::ordered_json; // fields stay in the order written, so equal descriptions give equal bytes

/// Text that is no UTF-8 (a path, say) gets replacement characters.
inline std::string dumpJson(const Json &json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

/// One JSON object, with the path that leads to it for messages. Each reader throws Error{Input} for a field that is
/// missing or of another type.
class JsonFields {
public:
  JsonFields(const Json &object, std::string path, std::string name)
      : object(object), path(std::move(path)), name(std::move(name)) {
    if (!object.is_object())
      fail(fmt::format("{} is not an object", this->path.empty() ? "the description" : this->path));
  }

  std::string text(const char *key) const {
    const Json &value = field(key);
    return value.is_string() ? value.get<std::string>() : wrongType<std::string>(key, "a string");
  }
  bool boolean(const char *key) const {
    const Json &value = field(key);
    return value.is_boolean() ? value.get<bool>() : wrongType<bool>(key, "true or false");
  }
  int64_t integer(const char *key, int64_t least) const {
    const Json &value = field(key);
    if (!isInteger(value, least))
      return wrongType<int64_t>(key, fmt::format("an integer of at least {}", least));
    return value.get<int64_t>();
  }
  /// For fields that packages of before do not have.
  int64_t integer(const char *key, int64_t least, int64_t whenMissing) const {
    return object.contains(key) ? integer(key, least) : whenMissing;
  }
  bool boolean(const char *key, bool whenMissing) const { return object.contains(key) ? boolean(key) : whenMissing; }
  const Json &list(const char *key) const {
    const Json &value = field(key);
    return value.is_array() ? value : wrongType<const Json &>(key, "a list");
  }
  std::vector<std::string> texts(const char *key) const {
    std::vector<std::string> all;
    for (const Json &text : list(key))
      all.push_back(text.is_string() ? text.get<std::string>() : wrongType<std::string>(key, "a list of strings"));
    return all;
  }
  /// An object of strings.
  std::map<std::string, std::string> textMap(const char *key) const {
    const Json &value = field(key);
    std::map<std::string, std::string> all;
    if (!value.is_object())
      return wrongType<std::map<std::string, std::string>>(key, "an object of strings");
    for (const auto &[name, text] : value.items())
      all[name] = text.is_string() ? text.get<std::string>() : wrongType<std::string>(key, "an object of strings");
    return all;
  }
  std::vector<int64_t> integers(const char *key, int64_t least) const {
    std::vector<int64_t> all;
    for (const Json &value : list(key)) {
      if (!isInteger(value, least))
        wrongType<void>(key, fmt::format("a list of integers of at least {}", least));
      all.push_back(value.get<int64_t>());
    }
    return all;
  }
  bool has(const char *key) const { return object.contains(key); }
  std::string pathOf(const char *key) const { return path.empty() ? key : path + "." + key; }
  JsonFields element(const char *key, const Json &value, size_t index) const {
    return JsonFields(value, fmt::format("{}[{}]", pathOf(key), index), name);
  }
  template <typename T>
  T wrongType(const char *key, const std::string &expected) const {
    fail(fmt::format("field `{}` is not {}", pathOf(key), expected));
  }

private:
  static bool isInteger(const Json &value, int64_t least) {
    bool fits = value.is_number_unsigned() ? value.get<uint64_t>() <= uint64_t(std::numeric_limits<int64_t>::max())
                                           : value.is_number_integer();
    return fits && value.get<int64_t>() >= least;
  }
  const Json &field(const char *key) const {
    auto found = object.find(key);
    if (found == object.end())
      fail(fmt::format("field `{}` is missing", pathOf(key)));
    return *found;
  }
  [[noreturn]] void fail(const std::string &problem) const { throw inputError(fmt::format("{}: {}", name, problem)); }

  const Json &object;
  std::string path;
  std::string name; ///< begins every message
};

} // namespace heddle
