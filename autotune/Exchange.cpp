// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes and reads the lines of results, and decides which of two results for a key is kept.
#include "autotune/Exchange.h"
#include "support/Error.h"
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace heddle::autotune {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char *kind = "heddle-tuning-results";
constexpr int format = 1;
constexpr const char *fields[] = {"key",  "configuration", "microseconds", "default_microseconds",
                                  "gain", "half_width",    "rounds",       "measured_at"};

Json parseObject(const std::string &line, const std::string &where) {
  Json json = Json::parse(line, nullptr, false);
  if (!json.is_object())
    throw inputError(fmt::format("{}: error: no JSON object in `{}`", where, line.substr(0, 60)),
                     {"`heddle tune --export FILE` writes what can be imported"});
  return json;
}

template <typename T>
T fieldOf(const Json &json, const char *name, const std::string &where) {
  try {
    return json.at(name).get<T>();
  } catch (const Json::exception &) {
    throw inputError(fmt::format("{}: error: the field `{}` is missing or of another type", where, name));
  }
}

/// A number that measurements can give.
double numberOf(const Json &json, const char *name, const std::string &where) {
  double value = fieldOf<double>(json, name, where);
  if (!(value >= -1e15 && value <= 1e15))
    throw inputError(fmt::format("{}: error: the field `{}` is {}", where, name, value));
  return value;
}

} // namespace

std::string lineOf(const TunedResult &result) {
  Json key = Json::object();
  for (const KeyPart &part : keyParts())
    key[part.name] = result.key[part.name];
  auto rounded = [](double value) { return std::stod(fmt::format("{:.6g}", value)); };
  return Json{{"key", key},
              {"configuration", textOf(result.configuration)},
              {"microseconds", rounded(result.microseconds)},
              {"default_microseconds", rounded(result.defaultMicroseconds)},
              {"gain", rounded(result.gain)},
              {"half_width", rounded(result.halfWidth)},
              {"rounds", result.rounds},
              {"measured_at", result.measuredAt}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

TunedResult parseResult(const std::string &line, const std::string &where) {
  Json json = parseObject(line, where);
  for (const auto &[name, value] : json.items())
    if (std::find(std::begin(fields), std::end(fields), name) == std::end(fields))
      throw inputError(fmt::format("{}: error: a result has no field `{}`", where, name));
  try {
    return TunedResult{Key(fieldOf<std::map<std::string, std::string>>(json, "key", where)),
                       parseConfiguration(fieldOf<std::string>(json, "configuration", where)),
                       numberOf(json, "microseconds", where),
                       numberOf(json, "default_microseconds", where),
                       numberOf(json, "gain", where),
                       numberOf(json, "half_width", where),
                       fieldOf<int64_t>(json, "rounds", where),
                       fieldOf<std::string>(json, "measured_at", where),
                       ""};
  } catch (const Error &error) {
    std::string message = error.what();
    throw Error(error.kind, message.starts_with(where) ? message : fmt::format("{}: error: {}", where, message),
                error.notes);
  }
}

void sortResults(std::vector<TunedResult> &results) {
  auto numbers = [](const TunedResult &result) {
    std::vector<long long> values;
    for (const auto &[name, value] : numbersOf(result.key["extents"]))
      values.push_back(value);
    return values;
  };
  std::sort(results.begin(), results.end(), [&](const TunedResult &a, const TunedResult &b) {
    for (const char *part : {"kernel", "chip", "device", "types", "options", "fixed"})
      if (a.key[part] != b.key[part])
        return a.key[part] < b.key[part];
    auto first = numbers(a), second = numbers(b);
    return first != second ? first < second : a.key.all() < b.key.all();
  });
}

std::string exportText(std::vector<TunedResult> results) {
  sortResults(results);
  std::string text = Json{{"kind", kind}, {"format", format}}.dump() + "\n";
  for (const TunedResult &result : results)
    text += lineOf(result) + "\n";
  return text;
}

std::vector<TunedResult> importText(const std::string &text, const std::string &name, const std::string &origin) {
  std::vector<TunedResult> results;
  bool hasHead = false;
  size_t number = 1;
  for (size_t start = 0; start < text.size(); ++number) {
    size_t end = std::min(text.find('\n', start), text.size());
    std::string line = text.substr(start, end - start), where = fmt::format("{}:{}", name, number);
    start = end + 1;
    if (line.empty() || line[0] == '#')
      continue;
    if (hasHead) {
      results.push_back(parseResult(line, where));
      results.back().origin = origin;
      continue;
    }
    Json head = parseObject(line, where);
    if (head.value("kind", Json()) != kind)
      throw inputError(
          fmt::format("{}: error: these are no tuning results; the first line says `\"kind\": \"{}\"`", where, kind));
    if (int found = fieldOf<int>(head, "format", where); found != format)
      throw inputError(
          fmt::format("{}: error: the results have format {}, and this heddle reads format {}", where, found, format));
    hasHead = true;
  }
  if (!hasHead)
    throw inputError(fmt::format("{}: no tuning results: the file has no line", name),
                     {"`heddle tune --export FILE` writes what can be imported"});
  return results;
}

} // namespace heddle::autotune
