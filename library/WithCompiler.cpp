// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// libheddle: simulated devices, and what collectives and modules need of the compiler.
#include "api/Heddle.h"
#include "library/Compiler.h"
#include "library/Errors.h"
#include "runtime/Driver.h"
#include <mutex>

namespace heddle {

void useAllDevices() {
  static std::once_flag once;
  std::call_once(once, useSimulatedDevices);
}

std::shared_ptr<Device> openAnyDevice(const std::string &name) {
  useAllDevices();
  return openDevice(name);
}

std::shared_ptr<const KernelSource> kernelsInNoBundle() {
  return compiledKernels();
}

program::RankCollective compileModule(std::string_view text, const std::string &name, int ranks, const Chip &chip,
                                      int computeUnits) {
  return program::compileRankCollective(text, name, ranks, chip, computeUnits);
}

} // namespace heddle

int32_t heddle_has_compiler(void) {
  return 1;
}
