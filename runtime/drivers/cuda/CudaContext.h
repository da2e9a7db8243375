// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is known of one GPU, its primary context, and making that context current.
#pragma once
#include "runtime/drivers/cuda/CudaApi.h"
#include <string>

namespace heddle {

class CudaMemory;
class CudaGate;
class CudaStagingPool;
struct Chip;

/// Lives as long as the driver. The primary context is the one that other libraries of the process use.
struct CudaContext {
  const CudaApi &api;
  CudaMemory &memory;
  CudaGate &gate;
  CudaStagingPool &staging;
  int ordinal;
  std::string name; ///< `cuda:0`
  cuda::DeviceNumber number;
  std::string product;
  const Chip *chip;
  int multiprocessors;
  int64_t sharedBytesPerBlock; ///< most that a block may have
  cuda::Context handle;

  /// Calls, and throws Error{Environment} with this device's name.
  template <typename... Parameters, typename... Arguments>
  void call(const CudaFunction<Parameters...> &function, Arguments... arguments) const {
    api.call(name, function, arguments...);
  }

  /// Calls what frees or destroys, with this context current. What belongs to a lost context is lost with it.
  template <typename Function, typename Handle>
  void giveBack(const Function &function, Handle handle) const;
};

/// Makes a context current on this thread, and puts back the one of before. CUDA allows no calls in host functions:
/// Error{Input} there.
class CudaScope {
public:
  explicit CudaScope(const CudaContext &context);
  CudaScope(const CudaScope &) = delete;
  ~CudaScope();

private:
  const CudaApi &api;
  cuda::Context before = nullptr;
  bool changed = false;
};

template <typename Function, typename Handle>
void CudaContext::giveBack(const Function &function, Handle handle) const {
  try {
    CudaScope scope(*this);
    function(handle);
  } catch (const Error &) { // the context cannot be made current
  }
}

/// Whether this thread runs a host function of a CUDA stream.
bool &insideCudaHostFunction();

} // namespace heddle
