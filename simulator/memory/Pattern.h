// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What registers, LDS, scratch and slack hold that nothing has written: another one for each seed, so that what depends
// on it differs from run to run.
#pragma once
#include <cstdint>
#include <cstring>

namespace heddle::simulator {

inline uint32_t firstOfPattern(uint64_t seed) {
  return uint32_t(seed * 0x2545f491u) ^ 0x7fc5a5a5u;
}

/// Every word another value, the same in each run: what reads them shows itself. `bytes` need not be whole words.
inline void fillPattern(void *destination, uint64_t bytes, uint32_t pattern) {
  char *at = static_cast<char *>(destination);
  for (; bytes >= 4; bytes -= 4, at += 4, pattern += 0x9e3779b1u) // sums cost less than products
    std::memcpy(at, &pattern, 4);
  std::memcpy(at, &pattern, bytes);
}

} // namespace heddle::simulator
