// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of large pages, cut into lines.
#include "simulator/memory/LinePool.h"
#include <cstdint>
#include <new>
#include <sys/mman.h>

namespace heddle::simulator {

static constexpr std::size_t largePageBytes = std::size_t(1) << 21;

void LinePool::addBlock() {
  bool isLarge = nextBytes >= largePageBytes;
  std::size_t bytes = isLarge ? largePageBytes : nextBytes;
  void *block = std::aligned_alloc(isLarge ? largePageBytes : alignment, bytes);
  if (!block)
    throw std::bad_alloc();
  blocks.emplace_back(block);
  if (isLarge)
    madvise(block, bytes, MADV_HUGEPAGE); // a wish: without it, it is only slower
  nextBytes = bytes * 2;
  for (std::size_t at = bytes / pieceBytes * pieceBytes; at; at -= pieceBytes)
    spare.push_back(static_cast<uint8_t *>(block) + at - pieceBytes);
}

} // namespace heddle::simulator
