// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Knows whether this thread is in a host function, where CUDA and HIP allow no call.
#include "runtime/drivers/gpu/GpuContext.h"
#include <fmt/format.h>

namespace heddle {

bool &insideGpuHostFunction() {
  static thread_local bool inside = false;
  return inside;
}

GpuScope::GpuScope(const GpuContext &context) : api(context.api) {
  if (insideGpuHostFunction())
    throw inputError(fmt::format("{}: a host function of a stream uses the device, which {} does not allow",
                                 context.name, api.vendor.title),
                     {"use the device from the thread that waits for the stream"});
  before = api.makeCurrent(context);
}

GpuScope::~GpuScope() {
  if (before)
    api.putBack(*before);
}

} // namespace heddle
