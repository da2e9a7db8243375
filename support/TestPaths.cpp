// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// HEDDLE_SOURCE_DIR and HEDDLE_BINARY_DIR come from CMake.
#include "support/TestPaths.h"
#include <cstdlib>

namespace heddle {

std::string sourcePath(const std::string &relative) {
  const char *elsewhere = std::getenv("HEDDLE_SOURCE_DIR"); // where a test was carried to another machine
  return std::string(elsewhere && *elsewhere ? elsewhere : HEDDLE_SOURCE_DIR) + "/" + relative;
}

std::string buildPath(const std::string &relative) {
  return HEDDLE_BINARY_DIR "/" + relative;
}

} // namespace heddle
