// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Results as text, one JSON object a line, sorted: what `heddle tune --export` writes, `--import` reads and merges, and
// what is shipped with heddle.
#pragma once
#include "autotune/Database.h"

namespace heddle::autotune {

std::string lineOf(const TunedResult &result); ///< one line, without its end
/// Throws Error{Input} at `where` for what is no result: an ill-formed line, a field that is unknown, missing or of
/// another type, a key that is not complete, and a configuration that is none.
TunedResult parseResult(const std::string &line, const std::string &where);

/// By kernel, chip, product, and the numbers of the extents.
void sortResults(std::vector<TunedResult> &results);

/// A first line with the format, then a line for each result.
std::string exportText(std::vector<TunedResult> results);
/// Throws Error{Input} at `name:line: ` also for a text of another kind, or of a newer format. Lines that begin with #
/// are skipped. `origin` becomes that of all results.
std::vector<TunedResult> importText(const std::string &text, const std::string &name, const std::string &origin);

} // namespace heddle::autotune
