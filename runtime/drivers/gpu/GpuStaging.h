// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pinned host memory through which copies from and to ordinary memory go. It is made in slabs and kept: to give it back
// waits for the devices.
#pragma once
#include "runtime/drivers/gpu/GpuContext.h"
#include <mutex>
#include <vector>

namespace heddle {

/// The pieces of a driver that nothing uses.
class GpuStagingPool {
public:
  static constexpr uint64_t pieceBytes = uint64_t(1) << 20;
  static constexpr int slabPieces = 16;

  /// Throws Error{Environment} when nothing can be pinned.
  void *take(const GpuContext &context);
  void give(void *piece) noexcept;
  /// When no stream is left.
  void freeAll() noexcept;

private:
  struct Slab {
    const GpuContext *context;
    void *start;
  };
  std::mutex mutex;
  std::vector<Slab> slabs;
  std::vector<void *> unused;
};

/// A piece of pinned memory. Work in one stream uses it in order.
class GpuStaging {
public:
  static constexpr uint64_t sizeBytes = GpuStagingPool::pieceBytes;
  explicit GpuStaging(const GpuContext &context) : pool(context.staging), start(pool.take(context)) {}
  GpuStaging(const GpuStaging &) = delete;
  ~GpuStaging() { pool.give(start); }
  void *memory() const { return start; }

private:
  GpuStagingPool &pool;
  void *start;
};

} // namespace heddle
