// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory of all CUDA devices of a driver: one table, because their addresses are of one space, and what was let go
// while streams may still use it.
#pragma once
#include "runtime/Allocations.h"
#include "runtime/drivers/cuda/CudaContext.h"
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace heddle {

/// cuMemFree waits for the whole device, and so for a kernel that may be waiting for a launch still to come. So memory
/// goes back only when no stream of the driver has work, or when there is not enough of it.
class CudaMemory {
public:
  /// Throws Error{Environment} naming bytes asked and free, after giving back what can be.
  uint64_t allocate(const CudaContext &context, uint64_t sizeBytes, const std::string &name);
  /// Takes the buffer out of the table; its memory goes back when it may.
  void retire(uint64_t address) noexcept;
  std::shared_ptr<const AllocationMap> snapshot();
  /// The device of a live buffer, or null.
  const CudaContext *contextOf(uint64_t address);

  void addStream(const CudaContext &context, cuda::Stream stream);
  void removeStream(cuda::Stream stream) noexcept;
  /// Begins a capture while nobody asks the stream whether it has work, which would end the capture.
  void beginCapture(const CudaContext &context, cuda::Stream stream);

  /// Does `action` now, or, on a thread that must not call CUDA, at the next collect().
  void release(std::function<void()> action) noexcept;
  /// Gives back what was retired if every stream is idle, and does what release() put off.
  void collect() noexcept;

private:
  struct Retired {
    const CudaContext *context;
    uint64_t address;
  };
  struct LiveStream {
    const CudaContext *context;
    cuda::Stream stream;
  };
  void runPostponed() noexcept;
  bool allIdle();
  void waitForAll();
  std::vector<Retired> takeRetired();
  static void giveBack(const std::vector<Retired> &memory);

  std::mutex callMutex; ///< held while CUDA is asked about all streams; never taken by a host function
  std::vector<LiveStream> streams;

  std::mutex mutex; ///< of what follows; never held over a call of CUDA, which may wait for a host function
  std::map<uint64_t, std::pair<Allocation, const CudaContext *>> live;
  std::shared_ptr<const AllocationMap> latest; ///< null after a change
  std::vector<Retired> retired;
  std::vector<std::function<void()>> postponed;
};

} // namespace heddle
