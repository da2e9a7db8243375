// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PTX from a package, compiled by the CUDA driver or found in the cache, and the function that launches.
#pragma once
#include "runtime/Module.h"
#include "runtime/drivers/cuda/CudaDriver.h"

namespace heddle {

class CudaModule : public Module {
public:
  /// Errors as Device::loadModule; also Error{Input} for more shared memory or threads than the chip or the code
  /// allows, and for parameters that are not those of binary/CudaAbi.h.
  static std::shared_ptr<CudaModule> load(std::shared_ptr<CudaDevice> device, const Package &package);
  ~CudaModule() override;

  const CudaContext &context() const { return device->context(); }
  cuda::Function function() const { return entry; }
  /// Blocks that live on the device at once.
  int64_t residentBlocks() const;
  int residentBlocksPerMultiprocessor() const; ///< without clusters

private:
  CudaModule(std::shared_ptr<CudaDevice> device, const Package &package);
  bool tryLoad(const std::string &code, cuda::Result &result);
  void loadCode(const std::string &ptx);
  void findEntry();
  void checkParameters() const;
  void checkLimits() const;
  void prepare();
  void reserveLocalMemory();

  std::shared_ptr<CudaDevice> device;
  cuda::Module handle = nullptr;
  cuda::Function entry = nullptr;
};

} // namespace heddle
