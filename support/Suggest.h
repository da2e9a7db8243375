// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The known name that a mistyped one most likely meant.
#pragma once
#include <string>
#include <vector>

namespace heddle {

/// The name within two edits of `given`, or one when `given` has two or three letters; empty when there is none, and
/// for a single letter, which every other would be close to.
std::string closestName(const std::string &given, const std::vector<std::string> &known);

} // namespace heddle
