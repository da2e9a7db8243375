// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cuda/CudaStreamPool.h"

namespace heddle {

cuda::Stream CudaStreamPool::take(const CudaContext &context) {
  std::lock_guard lock(mutex);
  std::vector<cuda::Stream> &own = unused[&context];
  if (!own.empty()) {
    cuda::Stream stream = own.back();
    own.pop_back();
    return stream;
  }
  CudaScope scope(context);
  cuda::Stream stream = nullptr;
  context.call(context.api.streamCreate, &stream, cuda::streamNonBlocking, 0);
  return stream;
}

void CudaStreamPool::give(const CudaContext &context, cuda::Stream stream) noexcept {
  std::lock_guard lock(mutex);
  unused[&context].push_back(stream);
}

void CudaStreamPool::destroyAll() noexcept {
  std::lock_guard lock(mutex);
  for (const auto &[context, streams] : unused)
    try {
      CudaScope scope(*context);
      for (cuda::Stream stream : streams)
        context->api.streamDestroy(stream);
    } catch (const Error &) { // the context is lost, and its streams with it
    }
  unused.clear();
}

} // namespace heddle
