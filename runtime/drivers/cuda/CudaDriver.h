// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NVIDIA GPUs as a driver: `cuda:0`, `cuda:1`, ... through libcuda.so.1, which need not be there.
#pragma once
#include "runtime/drivers/cuda/CudaApi.h"
#include "runtime/drivers/gpu/GpuDriver.h"

namespace heddle {

class CudaDriver : public GpuDriver {
public:
  /// Opens nothing yet. `library` is the name or path of libcuda; empty is what HEDDLE_CUDA_LIBRARY says.
  explicit CudaDriver(std::string library = "") : GpuDriver("cuda", "CUDA"), libraryPath(std::move(library)) {}
  ~CudaDriver() override { close(); }

protected:
  std::unique_ptr<GpuApi> openLibrary() const override;
  const Chip *identify(const std::string &device, gpu::DeviceNumber number, const std::string &product) const override;
  void *makeHandle(const std::string &device, gpu::DeviceNumber number) const override;
  std::shared_ptr<GpuDevice> makeDevice(const GpuContext &context) override;

private:
  const CudaApi &api() const { return static_cast<const CudaApi &>(library()); }

  const std::string libraryPath;
};

/// Never destroyed: libcuda may be gone before the program's last objects.
CudaDriver &cudaDriver();

class CudaDevice : public GpuDevice {
public:
  using GpuDevice::GpuDevice;
  std::shared_ptr<Module> loadModule(const Package &package) override;
};

} // namespace heddle
