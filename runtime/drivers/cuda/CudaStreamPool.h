// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Streams that nobody uses. CUDA deals its connections to a GPU out to streams in turn, also to those that have gone,
// and streams of one connection wait for each other's kernels. So there are no more streams than lived at once.
#pragma once
#include "runtime/drivers/cuda/CudaContext.h"
#include <map>
#include <mutex>
#include <vector>

namespace heddle {

class CudaStreamPool {
public:
  /// Throws Error{Environment} when CUDA makes none.
  cuda::Stream take(const CudaContext &context);
  /// `stream` has no work, and its context is not lost.
  void give(const CudaContext &context, cuda::Stream stream) noexcept;
  void destroyAll() noexcept;

private:
  std::mutex mutex;
  std::map<const CudaContext *, std::vector<cuda::Stream>> unused;
};

} // namespace heddle
