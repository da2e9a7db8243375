// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How likely hardware is to show what a check has found.
#pragma once
#include <cstdint>
#include <string>

namespace heddle::simulator {

enum class Severity : uint8_t {
  Low,    ///< wrong by the rules, or in doubt; hardware hardly shows it
  Medium, ///< depends on the load of the machine
  High,   ///< to be expected, unless something else keeps the two accesses apart
};

const char *nameOf(Severity severity); ///< `low`
/// Throws Error{Input} that lists the names.
Severity parseSeverity(const std::string &option, const std::string &text);

} // namespace heddle::simulator
