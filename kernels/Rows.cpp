// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks a whole number of a call, moves elements of host arrays, and makes random numbers.
#include "kernels/Rows.h"
#include "support/Error.h"
#include <cstring>
#include <fmt/format.h>

namespace heddle::kernels {

int64_t checkedNumber(const Call &call, const std::string &option, int64_t least, int64_t most,
                      const std::string &note) {
  int64_t value = call.number(option);
  if (value < least || value > most)
    throw inputError(
        fmt::format("kernel `{}`: `{}` is {}, and must be from {} to {}", call.kernel, option, value, least, most),
        {note});
  return value;
}

void copyElement(const HostArray &from, int64_t fromOffset, HostArray &to, int64_t toOffset) {
  std::memcpy(to.bytes.data() + toOffset, from.bytes.data() + fromOffset, size_t(elementSizeBytes(from.type.type)));
}

uint64_t nextRandom(uint64_t &seed) {
  seed = seed * 6364136223846793005u + 1442695040888963407u; // Knuth's MMIX
  return seed >> 33;
}

} // namespace heddle::kernels
