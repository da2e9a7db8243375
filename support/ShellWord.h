// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Words of command lines that people are given to run again.
#pragma once
#include <string>

namespace heddle {

/// Quoted where a shell would need it.
std::string quoteForShell(const std::string &word);

} // namespace heddle
