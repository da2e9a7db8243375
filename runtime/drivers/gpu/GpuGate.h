// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls of a GPU's library that wait for running kernels: giving back memory, pinned memory and code, and loading code.
// A kernel may itself be waiting for a launch that another thread is about to make, and the library lets that launch
// wait for the call. `probe-waits` of the device tests says which calls of CUDA these are; HIP's are taken to be the
// same.
#pragma once
#include "runtime/drivers/gpu/GpuContext.h"
#include <chrono>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <vector>

namespace heddle {

/// Makes such calls when no stream of the driver has work, and lets no work in meanwhile.
class GpuGate {
public:
  using Action = std::function<void()>;
  /// How long whileIdle() looks for a moment without work.
  std::chrono::milliseconds patience{2000};

  void addStream(const GpuContext &context, gpu::Stream stream);
  void removeStream(gpu::Stream stream) noexcept;
  /// Held while work is put into a stream, or a capture begins or ends.
  [[nodiscard]] std::shared_lock<std::shared_mutex> admit() { return std::shared_lock(entrance); }

  /// For what is given back: does `action` when nothing runs, at a later collect() if not now. It must not throw.
  void whenIdle(Action action) noexcept;
  /// For what does not wait: does `action` now or, on a thread that must not call the library, at the next collect().
  void soon(Action action) noexcept;
  /// For what is needed now: waits for a moment when nothing runs on this GPU, then does `action`. After `patience`
  /// it is done all the same, and work gets in beside it as far as the library allows. Passes on what `action` throws.
  void whileIdle(const GpuContext &context, const Action &action);
  void collect() noexcept;
  /// Waits for all streams, and does all that was put off. False when there was nothing.
  bool collectAfterWaiting();

private:
  struct LiveStream {
    const GpuContext *context;
    gpu::Stream stream;
  };
  void runPostponed() noexcept;
  bool tryWhileIdle(const GpuContext &context, const Action &action);
  std::vector<Action> takeRetired();

  std::shared_mutex entrance; ///< shared by who puts work into streams, exclusive for calls that wait for it
  std::mutex callMutex;       ///< held while the library is asked about all streams; never taken by a host function
  std::vector<LiveStream> streams;

  std::mutex mutex; ///< of what follows; never held over a call of the library, which may wait for a host function
  std::vector<Action> retired, postponed;
};

} // namespace heddle
