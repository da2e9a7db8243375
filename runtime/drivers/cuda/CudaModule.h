// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PTX from a package, compiled by the CUDA driver or found in the cache, and the function that launches.
#pragma once
#include "runtime/TensorMap.h"
#include "runtime/drivers/cuda/CudaDriver.h"
#include "runtime/drivers/gpu/GpuModule.h"

namespace heddle {

class CudaModule : public GpuModule {
public:
  /// Errors as Device::loadModule; also Error{Input} for more shared memory or threads than the chip or the code
  /// allows, and for parameters that are not those of binary/CudaAbi.h.
  static std::shared_ptr<CudaModule> load(std::shared_ptr<CudaDevice> device, const Package &package);

  void checkGrid(const Launch &launch) const override;
  std::vector<TensorMapParameter> tensorMaps(const Launch &launch) const override;
  GpuResult launch(const Launch &launch, gpu::Stream stream, void **parameters, bool startsEarly) const override;
  bool leavesRoom(const Launch &launch) const override;

private:
  using GpuModule::GpuModule;
  const CudaApi &api() const { return static_cast<const CudaApi &>(context().api); }
  bool tryLoad(const std::string &code, cuda::Result &result);
  void loadCode(const std::string &ptx);
  void checkParameters() const;
  void prepare();
  void reserveLocalMemory();
  TensorMapParameter encode(const TensorMap &map, size_t index) const;

  /// Whether four of it fit on the device. A launch that lies ready takes room: after one that waits for those of
  /// other devices it may be one of two, on two streams. If all four had none, two collectives whose ranks start them
  /// in different orders would wait for each other. Each is judged by its own occupancy.
  bool fitsFourTimes(const Launch &launch) const { return 4 * blocksOf(launch) <= resident; }

  bool waitsItself = false; ///< the kernel, and the driver knows what to do with it
  int64_t resident = 0;     ///< residentBlocks(), of one that does
};

} // namespace heddle
