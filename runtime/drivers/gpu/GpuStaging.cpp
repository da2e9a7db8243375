// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Takes and gives pieces of pinned memory; new slabs are made only when all are in use.
#include "runtime/drivers/gpu/GpuStaging.h"

namespace heddle {

void *GpuStagingPool::take(const GpuContext &context) {
  std::lock_guard lock(mutex);
  if (unused.empty()) {
    GpuScope scope(context);
    void *start = nullptr;
    context.call(context.api.hostAllocate, &start, size_t(slabPieces * pieceBytes), gpu::hostAllocPortable);
    slabs.push_back({&context, start});
    for (int i = slabPieces; i-- > 0;)
      unused.push_back(static_cast<char *>(start) + uint64_t(i) * pieceBytes);
  }
  void *piece = unused.back();
  unused.pop_back();
  return piece;
}

void GpuStagingPool::give(void *piece) noexcept {
  std::lock_guard lock(mutex);
  unused.push_back(piece);
}

void GpuStagingPool::freeAll() noexcept {
  std::lock_guard lock(mutex);
  for (const Slab &slab : slabs)
    slab.context->giveBack(slab.context->api.hostFree, slab.start);
  slabs.clear();
  unused.clear();
}

} // namespace heddle
