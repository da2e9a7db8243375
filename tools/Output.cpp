// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The two streams, colours, and the forms of messages; numbers of options are read here for all verbs.
#include "tools/Output.h"
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <regex>
#include <unistd.h>

namespace heddle {
namespace {

bool usesColour() {
  static const bool answer = isatty(STDERR_FILENO) && !std::getenv("NO_COLOR");
  return answer;
}

std::string coloured(const char *code, const std::string &text) {
  return usesColour() ? fmt::format("\033[{}m{}\033[0m", code, text) : text;
}

/// A message that begins with `file:line:column: ` keeps it before the kind; other messages get the program's name
/// there.
std::string formatMessage(const std::string &message, const char *kind, const char *colour) {
  static const std::regex located("^([^\n]+?:[0-9]+:[0-9]+): ");
  std::smatch match;
  if (std::regex_search(message, match, located))
    return fmt::format("{}: {} {}", match[1].str(), coloured(colour, std::string(kind) + ":"), match.suffix().str());
  return fmt::format("heddle: {} {}", coloured(colour, std::string(kind) + ":"), message);
}

std::string formatNote(const std::string &note) {
  static const std::regex located("^([^\n ]+?:[0-9]+:[0-9]+): ");
  std::smatch match;
  if (std::regex_search(note, match, located))
    return fmt::format("{}: {} {}", match[1].str(), coloured("1;36", "note:"), match.suffix().str());
  return fmt::format("  {} {}", coloured("1;36", "note:"), note);
}

thread_local CapturedOutput *captured = nullptr;

} // namespace

CapturedOutput::CapturedOutput(Progress progress) : progress(std::move(progress)), outer(captured) {
  captured = this;
}

CapturedOutput::~CapturedOutput() {
  captured = outer;
}

CapturedOutput *CapturedOutput::current() {
  return captured;
}

void printData(const std::string &text) {
  if (captured) {
    captured->data += text;
    return;
  }
  size_t written = std::fwrite(text.data(), 1, text.size(), stdout);
  if (written == text.size() && std::fflush(stdout) == 0)
    return;
  if (errno == EPIPE)
    std::_Exit(0);
  throw environmentError(std::string("cannot write standard output: ") + std::strerror(errno));
}

void printJson(const nlohmann::ordered_json &json) {
  printData(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

std::array<int64_t, 3> parseExtents(const std::string &option, const std::string &text) {
  std::array<int64_t, 3> extents = {1, 1, 1};
  const char *at = text.data(), *end = text.data() + text.size();
  for (int i = 0; i < 3; ++i) {
    auto [stop, status] = std::from_chars(at, end, extents[i]);
    if (status == std::errc::result_out_of_range)
      throw inputError(fmt::format("`{} {}` is too large", option, text), {"the greatest extent is 4294967295"});
    if (status != std::errc() || stop == at)
      break;
    if (stop == end)
      return extents;
    if (*stop != ',')
      break;
    at = stop + 1;
  }
  throw inputError(fmt::format("`{} {}` is not X, X,Y or X,Y,Z", option, text));
}

std::optional<double> parseNumber(std::string_view text) {
  double value = 0;
  auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  return status == std::errc() && stop == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

int parseIntegerOption(const std::string &option, const std::string &text, int least, int most) {
  int value = 0;
  auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status == std::errc() && stop == text.data() + text.size() && value >= least && value <= most)
    return value;
  std::string range = most == INT_MAX ? fmt::format("from {}", least) : fmt::format("from {} to {}", least, most);
  throw inputError(fmt::format("`{} {}`: not an integer {}", option, text, range));
}

uint64_t parseUnsignedOption(const std::string &option, const std::string &text, uint64_t least) {
  uint64_t value = 0;
  auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || stop != text.data() + text.size() || value < least)
    throw inputError(fmt::format("`{} {}` is not an integer from {} to 2^64-1", option, text, least));
  return value;
}

std::string fileOfRank(const std::string &file, size_t rank) {
  size_t dot = file.rfind(".npy");
  return dot == std::string::npos ? fmt::format("{}.{}", file, rank)
                                  : fmt::format("{}.{}{}", file.substr(0, dot), rank, file.substr(dot));
}

void say(const std::string &line) {
  if (captured) {
    captured->talk.push_back(line);
    return;
  }
  fmt::print(stderr, "{}\n", line);
}

void printError(const Error &error) {
  say(formatMessage(error.what(), "error", "1;31"));
  for (const std::string &note : error.notes)
    say(formatNote(note));
}

void printWarning(const std::string &message) {
  say(formatMessage(message, "warning", "1;35"));
}

void printRemark(const std::string &message) {
  say(formatMessage(message, "remark", "1;34"));
}

std::string formatTable(const std::vector<std::vector<std::string>> &rows) {
  std::vector<size_t> widths;
  for (const auto &row : rows)
    for (size_t i = 0; i < row.size(); ++i) {
      widths.resize(std::max(widths.size(), i + 1));
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string text;
  for (const auto &row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i)
      line += i + 1 == row.size() ? row[i] : fmt::format("{:<{}}  ", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

} // namespace heddle
