// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What `heddle tune --report` writes of its candidates: a table as text, a plot as SVG, or a page with both.
#pragma once
#include "api/Tune.h"

namespace heddle {

/// Throws Error{Input} for a file that is neither `.html`, `.svg` nor `-`.
void checkReportName(const std::string &file);
/// `-` is standard output. Throws Error{Environment} where it cannot be written.
void writeTuneReport(const std::string &file, const std::string &kernel, const std::vector<TuneResult> &results);

/// The table of one shape: every candidate, the fastest first, then those that failed and those that were pruned.
std::string tuneTable(const TuneResult &result);
} // namespace heddle
