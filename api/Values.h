// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What all that take values by name refuse in the same words.
#pragma once
#include "api/Heddle.h"

namespace heddle {

/// Throws Error{Input} when a name occurs twice; `option` is `--arg` or `--buffer`.
void checkRepeated(const std::vector<NamedValue> &values, const char *option);

/// Throws Error{Input} when a `--buffer` has the name of an argument.
void checkOwnNames(const std::vector<NamedValue> &buffers, const std::vector<std::string> &arguments,
                   const std::string &kernel);

/// The type of a file's elements when no argument says more. Throws Error{Input}.
ElementType typeOfDtype(const std::string &dtype, const std::string &path);

/// `[3, 5]`
std::string formatIndex(int64_t element, const std::vector<int64_t> &shape);

} // namespace heddle
