// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Opens libcuda, tells which chip a GPU is, and sets how many queues CUDA makes.
#include "runtime/drivers/cuda/CudaDriver.h"
#include "chips/Chip.h"
#include "runtime/drivers/cuda/CudaModule.h"
#include "support/Knobs.h"
#include <cstdlib>
#include <fmt/format.h>

namespace heddle {

CudaDriver &cudaDriver() {
  static auto *driver = new CudaDriver;
  return *driver;
}

/// Devices that share a GPU wait for each other, and kernels of streams that share a queue run one after the other.
/// CUDA has 8 queues unless it is told otherwise before it starts, and 32 at most.
std::unique_ptr<GpuApi> CudaDriver::openLibrary() const {
  if (devicesPerGpu() > 1)
    ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  return std::make_unique<CudaApi>(libraryPath.empty() ? cudaLibrary() : libraryPath);
}

const Chip *CudaDriver::identify(const std::string &device, gpu::DeviceNumber number,
                                 const std::string &product) const {
  int major = 0, minor = 0;
  api().call(device, api().deviceGetAttribute, &major, cuda::attribute::capabilityMajor, number);
  api().call(device, api().deviceGetAttribute, &minor, cuda::attribute::capabilityMinor, number);
  std::string chipName = fmt::format("sm_{}{}", major, minor);
  if (const Chip *chip = findChip(Vendor::Nvidia, chipName))
    return chip;
  throw environmentError(fmt::format("{}: {} has compute capability {}, and Heddle makes code for {}", device, product,
                                     chipName, listChips(Vendor::Nvidia)));
}

void *CudaDriver::makeHandle(const std::string &device, gpu::DeviceNumber number) const {
  cuda::Context handle = nullptr;
  api().call(device, api().primaryContextRetain, &handle, number);
  return handle;
}

std::shared_ptr<GpuDevice> CudaDriver::makeDevice(const GpuContext &context) {
  return std::make_shared<CudaDevice>(*this, context);
}

std::shared_ptr<void> CudaDevice::allowInCaptures() {
  int mode = gpu::captureRelaxed; // then the mode of before
  if (!api().threadExchangeCaptureMode || api().threadExchangeCaptureMode(&mode))
    return nullptr;
  return {static_cast<void *>(this), [&cuda = api(), mode](void *) {
            int before = mode;
            cuda.threadExchangeCaptureMode(&before);
          }};
}

std::shared_ptr<Module> CudaDevice::loadModule(const Package &package) {
  return CudaModule::load(std::static_pointer_cast<CudaDevice>(shared_from_this()), package);
}

} // namespace heddle
