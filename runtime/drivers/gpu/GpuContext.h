// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is known of one GPU, and making it current on a thread.
#pragma once
#include "runtime/drivers/gpu/GpuApi.h"
#include <string>

namespace heddle {

class GpuMemory;
class GpuGate;
class GpuStagingPool;
struct Chip;

/// Lives as long as the driver.
struct GpuContext {
  const GpuApi &api;
  GpuMemory &memory;
  GpuGate &gate;
  GpuStagingPool &staging;
  int ordinal;
  std::string name; ///< `cuda:0`, `hip:0`
  gpu::DeviceNumber number;
  std::string product;
  const Chip *chip;
  int multiprocessors;
  int64_t sharedBytesPerBlock; ///< most that a block may have
  int sharers;                 ///< devices that this GPU stands for, this one among them (HEDDLE_DEVICES_PER_GPU)
  void *handle;                ///< CUDA's primary context, which other libraries of the process use; null for HIP

  /// Calls, and throws Error{Environment} with this device's name.
  template <typename... Parameters, typename... Arguments>
  void call(const GpuFunction<Parameters...> &function, Arguments... arguments) const {
    api.call(name, function, arguments...);
  }

  /// Calls what frees or destroys, with this context current. What belongs to a lost context is lost with it.
  template <typename Function, typename Handle>
  void giveBack(const Function &function, Handle handle) const;
};

/// Makes a device current on this thread, and puts back the one of before. Neither CUDA nor HIP allows calls in host
/// functions: Error{Input} there.
class GpuScope {
public:
  explicit GpuScope(const GpuContext &context);
  GpuScope(const GpuScope &) = delete;
  ~GpuScope();

private:
  const GpuApi &api;
  std::optional<uintptr_t> before;
};

template <typename Function, typename Handle>
void GpuContext::giveBack(const Function &function, Handle handle) const {
  try {
    GpuScope scope(*this);
    function(handle);
  } catch (const Error &) { // the device cannot be made current
  }
}

/// Whether this thread runs a host function of a stream.
bool &insideGpuHostFunction();

} // namespace heddle
