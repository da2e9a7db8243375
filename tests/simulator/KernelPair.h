// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Generated kernels compiled twice: to a code object that the simulator runs, and to functions of this process.
#pragma once
#include "GeneratedKernels.h"
#include "simulator/state/CheckSet.h"
#include <cstdint>
#include <map>
#include <set>

namespace heddle::simulator {

inline constexpr unsigned threadCount = 256;

using Bytes = std::vector<uint8_t>;

/// The values of one kernel's three inputs, for all threads.
struct KernelData {
  Bytes x, y, z;
};
KernelData makeData(const GeneratedKernel &kernel);

/// The linked code object of a module of LLVM IR for `chip`.
std::string compileModule(const std::string &text, const std::string &chip);
/// That of all generated kernels.
std::string compileForChip(const std::vector<GeneratedKernel> &kernels, const std::string &chip);

/// Runs each kernel in the simulator; results by name, or the error that ended it.
struct Outcome {
  Bytes result;
  std::string error;
};
std::map<std::string, Outcome> simulate(const std::vector<GeneratedKernel> &kernels, const std::string &codeObject,
                                        std::set<std::string> &executedMnemonics, CheckSet checks = {});

/// Runs each kernel on this processor.
std::map<std::string, Outcome> runOnHost(const std::vector<GeneratedKernel> &kernels);

} // namespace heddle::simulator
