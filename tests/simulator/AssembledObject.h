// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A code object of one kernel, made of assembly by hand.
#pragma once
#include "binary/AmdCodeObject.h"
#include "simulator/decode/TestAssembler.h"

namespace heddle::simulator {

/// Its user registers are the pointer to its `kernargBytes` bytes of arguments; it has 128 vector registers, the
/// accumulation registers from 64 on, and no LDS or scratch.
inline AmdCodeObject assembledObject(const std::string &chip, const std::string &name, const std::string &text,
                                     uint64_t kernargBytes) {
  std::vector<uint8_t> code = assemble(chip, text);
  AmdCodeObject object;
  object.chip = chip;
  object.version = 6;
  object.segments.push_back(
      {.sizeBytes = code.size(), .executable = true, .bytes = std::string(code.begin(), code.end())});
  AmdKernel kernel;
  kernel.name = name;
  kernel.kernargBytes = kernargBytes;
  kernel.resource1 = 15;
  kernel.resource2 = 2 << 1;
  kernel.resource3 = 15;
  kernel.properties = 1 << 3; // the argument pointer is asked for
  object.kernels.push_back(kernel);
  return object;
}

} // namespace heddle::simulator
