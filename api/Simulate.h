// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of AMD code objects on the simulator, with arguments by name.
#pragma once
#include "api/Heddle.h"
#include <functional>

namespace heddle {

struct SimulateRequest {
  std::string kernel;                                          ///< may be empty when the object has one
  std::array<int64_t, 3> grid = {1, 1, 1}, block = {64, 1, 1}; ///< workgroups, and work-items of each
  int64_t dynamicLdsBytes = 0;
  std::vector<NamedValue> arguments; ///< by the name in the object's metadata, or by position: `0`, `1`, ...
  std::vector<NamedValue> buffers;
  std::vector<std::string> outputs;
  std::string policy = "earliest"; ///< or `latest`: when memory operations complete
  bool preloads = true;
  uint64_t seed = 0;
  uint32_t resident = 0;         ///< workgroups alive at once; 0: the chip's compute units
  uint64_t instructionLimit = 0; ///< 0: the default
  std::function<void(const std::string &line)> trace;
};

struct SimulateResult {
  std::string kernel, chip;
  std::vector<Array> outputs;
  uint64_t instructions = 0, waves = 0, groups = 0; ///< instructions are those of waves
  double seconds = 0;                               ///< of processor time, of the run alone
};

/// Runs a kernel of the code object in `file`; `name` stands for it in messages. Throws Error{Input} for an object or
/// arguments that do not fit, Error{WrongResult} for what the simulator finds.
SimulateResult simulateKernel(const std::string &file, const std::string &name, const SimulateRequest &request);

/// The instructions that the simulator has for `gfx942` or `gfx950`, in alphabetical order. Throws Error{Input} for
/// another chip.
std::vector<std::string> simulatedInstructions(const std::string &chip);

} // namespace heddle
