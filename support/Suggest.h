// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The known name that a mistyped one most likely meant.
#pragma once
#include <string>
#include <vector>

namespace heddle {

/// The known name within two edits of `given`, or one for names of up to three letters; empty when there is none.
std::string closestName(const std::string &given, const std::vector<std::string> &known);

} // namespace heddle
