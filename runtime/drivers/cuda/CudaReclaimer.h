// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What waits for running kernels when it is given back: memory, pinned memory, code, graphs. A kernel may itself be
// waiting for a launch that another thread is about to make, and that launch would wait for the call.
#pragma once
#include "runtime/drivers/cuda/CudaContext.h"
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <vector>

namespace heddle {

/// Gives back only when no stream of the driver has work, and lets no work in meanwhile; or when memory has run out.
class CudaReclaimer {
public:
  using Action = std::function<void()>;

  void addStream(const CudaContext &context, cuda::Stream stream);
  void removeStream(cuda::Stream stream) noexcept;
  /// Held while work is put into a stream, or a capture begins or ends.
  [[nodiscard]] std::shared_lock<std::shared_mutex> admit() { return std::shared_lock(gate); }

  /// Does `action` when nothing runs, at a later collect() if not now. It must not throw.
  void whenIdle(Action action) noexcept;
  /// For what does not wait: does `action` now or, on a thread that must not call CUDA, at the next collect().
  void soon(Action action) noexcept;
  void collect() noexcept;
  /// Waits for all streams, and does all that was put off. False when there was nothing.
  bool collectAfterWaiting();

private:
  struct LiveStream {
    const CudaContext *context;
    cuda::Stream stream;
  };
  void runPostponed() noexcept;
  bool allIdle();
  std::vector<Action> takeRetired();

  std::shared_mutex gate; ///< shared by who puts work into streams, exclusive while something is given back
  std::mutex callMutex;   ///< held while CUDA is asked about all streams; never taken by a host function
  std::vector<LiveStream> streams;

  std::mutex mutex; ///< of what follows; never held over a call of CUDA, which may wait for a host function
  std::vector<Action> retired, postponed;
};

} // namespace heddle
