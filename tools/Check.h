// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What `heddle check` and `heddle mutate` have in common: options, progress and how a verdict is told.
#pragma once
#include "api/Check.h"
#include "tools/KernelOptions.h"
#include <nlohmann/json.hpp>

namespace heddle {

struct CheckOptions {
  KernelOptions kernel;
  CheckRequest request;

  void add(CLI::App &verb);
  /// Fills `request` and reads the file.
  std::string parse(const std::string &verb);
};

/// What --help says of them.
extern const char *const checkOptionsHelp;

/// Says how many of how many are done: on a terminal in one line that is written over, or to what CapturedOutput names.
/// Empty where there is neither.
std::function<void(size_t done, size_t all)> makeProgress(const std::string &what);
/// The same for a check, which CapturedOutput may also end.
void addProgress(CheckRequest &request, const std::string &what);

/// Findings with the command that shows each again, then the verdict.
std::string formatVerdict(const CheckResult &result, const KernelOptions &kernel);
nlohmann::ordered_json verdictAsJson(const CheckResult &result, const KernelOptions &kernel);

} // namespace heddle
