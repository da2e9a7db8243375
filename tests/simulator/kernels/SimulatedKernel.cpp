// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/simulator/kernels/SimulatedKernel.h"
#include "support/File.h"
#include "support/TestPaths.h"

namespace heddle::simulator {

std::string readObject(const std::string &name) {
  return readFile(buildPath("test/simulator/" + name));
}

} // namespace heddle::simulator
