// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AMD GPUs as a driver: `hip:0`, `hip:1`, ... through libamdhip64.so, which need not be there.
#pragma once
#include "runtime/drivers/gpu/GpuDriver.h"
#include "runtime/drivers/hip/HipApi.h"

namespace heddle {

class HipDriver : public GpuDriver {
public:
  /// Opens nothing yet. `library` is the name or path of libamdhip64; empty is what HEDDLE_HIP_LIBRARY says.
  explicit HipDriver(std::string library = "") : GpuDriver("hip", "HIP"), libraryPath(std::move(library)) {}
  ~HipDriver() override { close(); }
  /// Nothing is known where the runtime lacks hipExtGetLinkTypeAndHopCount, or it fails.
  PeerLink linkBetween(int from, int to) const override;

protected:
  std::unique_ptr<GpuApi> openLibrary() const override;
  const Chip *identify(const std::string &device, gpu::DeviceNumber number, const std::string &product) const override;
  void *makeHandle(const std::string &, gpu::DeviceNumber) const override { return nullptr; }
  std::shared_ptr<GpuDevice> makeDevice(const GpuContext &context) override;

private:
  const std::string libraryPath;
};

/// Never destroyed: the library may be gone before the program's last objects.
HipDriver &hipDriver();

class HipDevice : public GpuDevice {
public:
  using GpuDevice::GpuDevice;
  std::shared_ptr<Module> loadModule(const Package &package) override;
};

} // namespace heddle
