// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The elements of arrays and their types.
#pragma once
#include "api/Heddle.h"

namespace heddle {

/// The type of a file's elements when no argument says more. Throws Error{Input}.
ElementType typeOfDtype(const std::string &dtype, const std::string &path);

/// `[3, 5]`
std::string formatIndex(int64_t element, const std::vector<int64_t> &shape);

} // namespace heddle
