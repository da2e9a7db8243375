// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The entry of a check. The runs and the verdict are in CheckRuns.cpp, which mutations use too.
#include "api/Check.h"
#include "api/CheckRuns.h"
#include <fmt/format.h>

namespace heddle {

std::vector<CheckInfoText> kernelChecks() {
  std::vector<CheckInfoText> texts;
  for (const simulator::CheckInfo &info : simulator::allChecks())
    texts.push_back({info.name, info.justification});
  texts.push_back({"result", "Memory operations may complete, and waves may run, in any order that waits, barriers and "
                             "atomics leave open: a kernel whose bits depend on it is right only by luck, unless it "
                             "says so (`--allow-different`)."});
  texts.push_back({"fault",
                   "An access outside every allocation, LDS or scratch, an atomic operation that is not aligned, "
                   "a trap, or an instruction that the simulator does not know ends a kernel at once; a "
                   "device would hang, stop the process, or access other data."});
  texts.push_back({"no-end",
                   "Every wave that can go on is scheduled, and every memory operation in flight completes: a "
                   "kernel that still waits would wait for ever on a device too, or needs more instructions "
                   "than `--limit` allows."});
  return texts;
}

std::string RunChoice::text() const {
  return fmt::format("{}, {}, seed {}", policy, schedule, seed);
}

CheckResult checkKernel(const std::string &file, const std::string &name, const CheckRequest &request) {
  SimulatedKernel kernel(file, name, request.run);
  return summarise(kernel, request, makeRuns(kernel, request));
}

} // namespace heddle
