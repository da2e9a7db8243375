// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The code object of a package, loaded by the HIP runtime.
#pragma once
#include "runtime/drivers/gpu/GpuModule.h"
#include "runtime/drivers/hip/HipDriver.h"

namespace heddle {

class HipModule : public GpuModule {
public:
  /// Errors as Device::loadModule; also Error{Input} for more LDS or work-items than the chip or the code allows, and
  /// for arguments that are not those of binary/AmdAbi.h.
  static std::shared_ptr<HipModule> load(std::shared_ptr<HipDevice> device, const Package &package);

  void checkGrid(const Launch &launch) const override;
  GpuResult launch(const Launch &launch, gpu::Stream stream, void **parameters, bool startsEarly) const override;

private:
  HipModule(std::shared_ptr<HipDevice> device, const Package &package, const std::array<uint32_t, 3> &shape);
  void loadCode();

  const std::array<uint32_t, 3> shape; ///< of a workgroup
};

} // namespace heddle
