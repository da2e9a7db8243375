// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the buffer of an address, and throws for what is in none.
#include "tests/reference/Memory.h"
#include "support/Error.h"
#include <cstring>

using namespace heddle::reference;

uint8_t *Memory::locate(uint64_t address, unsigned sizeBytes) const {
  std::string nearest;
  for (size_t i = 0; i < arguments.size(); ++i) {
    Argument &argument = arguments[i];
    if (!argument.isBuffer)
      continue;
    int64_t offset = int64_t(address - uint64_t(argument.bytes.data()));
    int64_t size = int64_t(argument.bytes.size());
    if (offset >= 0 && offset + int64_t(sizeBytes) <= size)
      return argument.bytes.data() + offset;
    if (offset >= -4096 && offset < size + 4096 && nearest.empty())
      nearest = ": offset " + std::to_string(offset) + " of argument " + std::to_string(i) + ", which has " +
                std::to_string(size) + " bytes";
  }
  throw inputError("access of " + std::to_string(sizeBytes) + " bytes outside every buffer" + nearest);
}

uint64_t Memory::read(uint64_t address, unsigned sizeBytes) const {
  uint64_t bits = 0;
  std::memcpy(&bits, locate(address, sizeBytes), sizeBytes);
  return bits;
}

void Memory::write(uint64_t address, unsigned sizeBytes, uint64_t bits) {
  std::memcpy(locate(address, sizeBytes), &bits, sizeBytes);
}
