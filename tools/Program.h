// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The command line as a whole, for the program `heddle` and for the library.
#pragma once
#include <string>
#include <vector>

namespace heddle {

/// Does what `words` say, of which the first is the program's name, and returns the exit code. Throws heddle::Error.
int runCommandLine(const std::vector<std::string> &words);

} // namespace heddle
