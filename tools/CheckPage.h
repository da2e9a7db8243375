// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The verdict of `heddle check` as an HTML page, with the findings in the source and the waves around each.
#pragma once
#include "api/CheckEvidence.h"
#include "tools/KernelOptions.h"
#include "tools/SourceExcerpt.h"

namespace heddle {

/// The file. `verdict` is the last line that the program prints, `replays` the command of each finding.
std::string checkPage(const CheckResult &result, const CheckEvidence &evidence, SourceFiles &sources,
                      const std::string &verdict, const std::vector<std::string> &replays);

} // namespace heddle
