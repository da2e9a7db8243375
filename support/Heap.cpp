// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Only programs do this: libheddle leaves its host's heap alone.
#include "support/Heap.h"
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

namespace heddle {

static constexpr int reservedBytes = 512 << 20, laterBytes = 1 << 20;
static constexpr int mostFromHeap = 32 << 20; // the C library takes no more
static constexpr uintptr_t largePageBytes = 2 << 20;

/// Whether the heap can grow by so much. The C library does not notice: the heap ends where it ended.
static bool hasRoom() {
  constexpr intptr_t bytes = reservedBytes + 2 * laterBytes;
  if (sbrk(bytes) == reinterpret_cast<void *>(-1))
    return false;
  sbrk(-bytes);
  return true;
}

void reserveHeap() {
  if (!hasRoom())
    return;
  mallopt(M_MMAP_THRESHOLD, mostFromHeap);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_TOP_PAD, reservedBytes);
  uintptr_t begin = uintptr_t(sbrk(0));
  void *volatile block = std::malloc(laterBytes); // more than is there, so that the heap grows
  std::free(block);
  mallopt(M_TOP_PAD, laterBytes);
  begin = (begin + largePageBytes - 1) & -largePageBytes;
  uintptr_t end = uintptr_t(sbrk(0)) & -largePageBytes;
  if (end > begin) // not with another allocator
    madvise(reinterpret_cast<void *>(begin), end - begin, MADV_HUGEPAGE);
}

} // namespace heddle
