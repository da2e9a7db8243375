// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the variable that chooses the device of a test, once.
#include "support/TestDevice.h"
#include <cstdlib>

namespace heddle {

std::string testDevice() {
  const char *name = std::getenv("HEDDLE_TEST_DEVICE");
  return name && *name ? name : "host";
}

std::string testDriver() {
  std::string device = testDevice();
  return device.substr(0, device.find(':', device.starts_with("sim:") ? 4 : 0));
}

} // namespace heddle
