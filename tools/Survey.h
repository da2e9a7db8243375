// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `heddle inspect` of folders and of several objects: what api/SurveyObjects.h says of them, as one table.
#pragma once
#include <string>
#include <vector>

namespace heddle {

struct SurveyOptions {
  std::vector<std::string> paths;
  bool waits = false, json = false;
};

/// Returns the exit code: 1 when an object cannot be read or has instructions that the simulator does not know.
int inspectMany(const SurveyOptions &options);

} // namespace heddle
