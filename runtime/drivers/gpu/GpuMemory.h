// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory of all devices of a driver: one table, because their addresses are of one space.
#pragma once
#include "runtime/Allocations.h"
#include "runtime/drivers/gpu/GpuContext.h"
#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace heddle {

class GpuMemory {
public:
  /// Throws Error{Environment} naming bytes asked and free, after giving back what can be.
  uint64_t allocate(const GpuContext &context, uint64_t sizeBytes, const std::string &name, Caching caching);
  /// Puts memory that was had in another way into the table; `release` gives it back, at a moment when that may wait.
  /// Memory that is in the table, as a driver opens the same handle at the same address again, stays until all of its
  /// users have retired it.
  void add(const GpuContext &context, Allocation allocation, std::function<void()> release);
  /// Takes the buffer out of the table; its memory goes back when it may.
  void retire(uint64_t address) noexcept;
  void adopt(const GpuContext &context, Allocation allocation); ///< memory of others
  void leave(uint64_t address, uint64_t sizeBytes) noexcept;    ///< no longer
  std::shared_ptr<const AllocationMap> snapshot();
  /// The device of a live buffer or of adopted memory, or null.
  const GpuContext *contextOf(uint64_t address);

private:
  std::mutex mutex; ///< never held over a call of the library, which may wait for a host function
  struct Live {
    Allocation allocation;
    const GpuContext *context;
    std::function<void()> release; ///< must not throw
    int uses = 1;
  };
  std::map<uint64_t, Live> live;
  AdoptedMemory adopted;
  std::map<std::string, const GpuContext *> adopters; ///< by the name of the device
  std::shared_ptr<const AllocationMap> latest;        ///< null after a change
};

} // namespace heddle
