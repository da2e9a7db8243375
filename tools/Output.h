// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Data to standard output, talk to standard error.
#pragma once
#include "support/Error.h"
#include <array>
#include <atomic>
#include <climits>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// Writes data. When the reader has gone away (`heddle ... | head`) the program ends quietly with code 0; any other
/// failure is Error{Environment}.
void printData(const std::string &text);

/// Writes JSON as data. Text that is no UTF-8 (a path, say) gets replacement characters.
void printJson(const nlohmann::ordered_json &json);

/// The whole text as a number in decimal form, which may be `inf` or `nan`; nothing when it is none.
std::optional<double> parseNumber(std::string_view text);

/// An option's value as an integer from `least` to `most`; Error{Input} with the option and its text when it is none.
int parseIntegerOption(const std::string &option, const std::string &text, int least, int most = INT_MAX);

/// The same for integers up to 2^64-1.
uint64_t parseUnsignedOption(const std::string &option, const std::string &text, uint64_t least = 0);

/// An option's value as X, X,Y or X,Y,Z, the rest 1; Error{Input} with the option and its text when it is none.
std::array<int64_t, 3> parseExtents(const std::string &option, const std::string &text);

/// A file for each rank: `out.npy` becomes `out.2.npy`.
std::string fileOfRank(const std::string &file, size_t rank);

/// While one lives, what this thread would write is kept instead: for a process whose streams are not ours. On one
/// thread the inner of two counts.
class CapturedOutput {
public:
  /// What long work calls, on any thread; true ends it early.
  using Progress = std::function<bool(size_t done, size_t all)>;
  explicit CapturedOutput(Progress progress = {});
  CapturedOutput(const CapturedOutput &) = delete;
  ~CapturedOutput();
  static CapturedOutput *current(); ///< of this thread, or null

  std::string data;              ///< what printData wrote
  std::vector<std::string> talk; ///< what say wrote, line by line
  const Progress progress;
  std::atomic<bool> isCancelled{false}; ///< `progress` has returned true

private:
  CapturedOutput *const outer; ///< of this thread, or null
};

/// Writes one line of talk.
void say(const std::string &line);

/// The error and its notes, in colour on a terminal: `FILE:LINE:COLUMN: error: ...`, or `heddle: error: ...`.
void printError(const Error &error);
void printWarning(const std::string &message);
void printRemark(const std::string &message);

/// Rows as columns, each as wide as its widest cell; the first row is the heading.
std::string formatTable(const std::vector<std::vector<std::string>> &rows);

} // namespace heddle
