// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads a code object from where the build has put it.
#include "tests/simulator/kernels/SimulatedKernel.h"
#include "support/File.h"
#include "support/TestPaths.h"

namespace heddle::simulator {

std::string readObject(const std::string &name) {
  return readFile(buildPath("test/simulator/" + name));
}

} // namespace heddle::simulator
