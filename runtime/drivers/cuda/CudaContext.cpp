// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cuda/CudaContext.h"

namespace heddle {

bool &insideCudaHostFunction() {
  static thread_local bool inside = false;
  return inside;
}

CudaScope::CudaScope(const CudaContext &context) : api(context.api) {
  if (insideCudaHostFunction())
    throw inputError(context.name + ": a host function of a stream uses the device, which CUDA does not allow",
                     {"use the device from the thread that waits for the stream"});
  context.call(api.contextGetCurrent, &before);
  if (before == context.handle)
    return;
  context.call(api.contextSetCurrent, context.handle);
  changed = true;
}

CudaScope::~CudaScope() {
  if (changed)
    api.contextSetCurrent(before);
}

} // namespace heddle
