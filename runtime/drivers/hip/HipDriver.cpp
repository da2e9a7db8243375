// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Opens libamdhip64 and tells which chip a GPU is and how two GPUs are linked.
#include "runtime/drivers/hip/HipDriver.h"
#include "chips/Chip.h"
#include "runtime/drivers/hip/HipModule.h"
#include "support/Knobs.h"
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>

namespace heddle {

HipDriver &hipDriver() {
  static auto *driver = new HipDriver;
  return *driver;
}

/// ROCm installs the name without a version only with its headers.
std::unique_ptr<GpuApi> HipDriver::openLibrary() const {
  if (devicesPerGpu() > 1)
    ::setenv("GPU_MAX_HW_QUEUES", "24", 0); // as in CudaDriver; HIP has 4 unless it is told otherwise
  std::string wanted = libraryPath.empty() ? hipLibrary() : libraryPath;
  std::vector<std::string> names = {wanted};
  if (wanted == hipLibraryDefault)
    names = {wanted + ".7", wanted + ".6", wanted};
  return std::make_unique<HipApi>(names);
}

const Chip *HipDriver::identify(const std::string &device, gpu::DeviceNumber number, const std::string &product) const {
  const auto &api = static_cast<const HipApi &>(library());
  hip::DeviceProperties properties = {};
  api.call(device, api.getProperties, &properties, number);
  std::string architecture(properties.architecture, ::strnlen(properties.architecture, sizeof properties.architecture));
  std::string chipName = architecture.substr(0, architecture.find(':')); // features follow
  if (const Chip *chip = findChip(Vendor::Amd, chipName))
    return chip;
  throw environmentError(
      fmt::format("{}: {} is a {}, and Heddle makes code for {}", device, product, chipName, listChips(Vendor::Amd)));
}

PeerLink HipDriver::linkBetween(int from, int to) const {
  int count = deviceCount();
  if (from < 0 || to < 0 || from >= count || to >= count || gpuOf(from) == gpuOf(to))
    return {};
  const auto &api = static_cast<const HipApi &>(library());
  uint32_t type = 0, hops = 0;
  if (!api.getLink || api.getLink(gpuOf(from), gpuOf(to), &type, &hops) != gpu::result::success)
    return {};
  std::string kind = type == hip::linkOfXgmi   ? "xGMI"
                     : type == hip::linkOfPcie ? "PCIe"
                                               : fmt::format("link type {}", type);
  return {kind, int(hops)};
}

std::shared_ptr<GpuDevice> HipDriver::makeDevice(const GpuContext &context) {
  return std::make_shared<HipDevice>(*this, context);
}

std::shared_ptr<Module> HipDevice::loadModule(const Package &package) {
  return HipModule::load(std::static_pointer_cast<HipDevice>(shared_from_this()), package);
}

} // namespace heddle
