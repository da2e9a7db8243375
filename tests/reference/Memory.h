// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory that a kernel may touch: the argument buffers at their real addresses, every access checked.
#pragma once
#include "tests/reference/Evaluator.h"

namespace heddle::reference {

class Memory {
public:
  explicit Memory(std::vector<Argument> &arguments) : arguments(arguments) {}

  /// The little-endian value of `sizeBytes` (1, 2, 4 or 8) at `address`. Throws Error{Input} outside the buffers.
  uint64_t read(uint64_t address, unsigned sizeBytes) const;
  void write(uint64_t address, unsigned sizeBytes, uint64_t bits);

private:
  uint8_t *locate(uint64_t address, unsigned sizeBytes) const;
  std::vector<Argument> &arguments;
};

} // namespace heddle::reference
