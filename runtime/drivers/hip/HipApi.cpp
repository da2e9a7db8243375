// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Opening the library, and what is known about its errors.
#include "runtime/drivers/hip/HipApi.h"
#include "runtime/Device.h"
#include "runtime/drivers/gpu/GpuContext.h"
#include <fmt/format.h>

namespace heddle {
namespace {

constexpr const char *lostDevice = "the device is lost to this process, and every later call fails: start the program "
                                   "again";
constexpr const char *noDevice = "is an AMD GPU in this machine, is the kernel's driver amdgpu loaded, may this user "
                                 "open /dev/kfd and /dev/dri (group "
                                 "`render`), and do HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES leave it visible";

constexpr gpu::Advice advice[] = {
    {gpu::result::noDevice, noDevice},
    {101, noDevice},
    {gpu::result::invalidImage, "the code object is damaged, or newer than this HIP runtime reads"},
    {gpu::result::noBinaryForGpu,
     "the code object was made for another chip, or for other settings of xnack or sramecc"},
    {gpu::result::illegalAddress, "a kernel accessed memory that is not there"},
    {gpu::result::illegalAddress, lostDevice},
    {gpu::result::outOfResources, "the workgroup has more work-items, registers or LDS than a compute unit gives"},
    {gpu::result::timeout, lostDevice},
    {gpu::result::launchFailed,
     "the HIP runtime may have said more on standard error; AMD_LOG_LEVEL=3 makes it say more"},
    {gpu::result::launchFailed, lostDevice},
    {gpu::result::cooperativeTooLarge, "all workgroups of a cooperative launch must fit on the device at once"},
    {gpu::result::captureUnsupported, "a graph cannot hold this work: do it before or after the capture"},
    {gpu::result::captureInvalidated, "an earlier call did something that a graph cannot hold, and ended the capture"},
    {gpu::result::captureWrongThread, "a capture ends on the thread where it began"},
    {999, "the kernel's log (dmesg) may say more"},
};

constexpr gpu::Vendor vendorOfHip = {
    .title = "HIP",
    .library = "HIP runtime",
    .hint = "it comes with ROCm; HEDDLE_HIP_LIBRARY names it when it lies elsewhere",
    .old = "Heddle needs HIP of ROCm 6.0 or newer",
    .unitWord = "compute units",
    .advice = advice,
    .unitCount = hip::attribute::computeUnits,
    .sharedPerBlock = hip::attribute::maxSharedPerBlock,
};

} // namespace

HipApi::HipApi(std::span<const std::string> libraries) : GpuApi(vendorOfHip) {
  open(libraries);
#define HEDDLE_GPU_FIND(name, cudaSymbol, hipSymbol, ...) find(name, #hipSymbol);
#define HEDDLE_HIP_FIND(name, symbol, ...) find(name, #symbol);
#define HEDDLE_HIP_FIND_OPTIONAL(name, symbol, ...) find(name, #symbol, false);
  HEDDLE_GPU_ENTRIES(HEDDLE_GPU_FIND)
  HEDDLE_HIP_ENTRIES(HEDDLE_HIP_FIND)
  HEDDLE_HIP_OPTIONAL(HEDDLE_HIP_FIND_OPTIONAL)
#undef HEDDLE_GPU_FIND
#undef HEDDLE_HIP_FIND
#undef HEDDLE_HIP_FIND_OPTIONAL
  initialise();
}

/// 60342131 is HIP 6.3.42131.
std::string HipApi::versionText() const {
  return fmt::format("HIP {}.{}", version() / 10'000'000, version() / 100'000 % 100);
}

std::optional<uintptr_t> HipApi::makeCurrent(const GpuContext &context) const {
  int before = 0;
  context.call(getDevice, &before);
  if (before == context.number)
    return std::nullopt;
  context.call(setDevice, context.number);
  return uintptr_t(before);
}

void HipApi::putBack(uintptr_t before) const {
  setDevice(int(before));
}

GpuResult HipApi::enablePeer(const GpuContext &, const GpuContext &to) const {
  return {enablePeerAccess.symbol, enablePeerAccess(to.number, 0u)};
}

GpuResult HipApi::copyPeer(gpu::Address destination, const GpuContext &to, gpu::Address source, const GpuContext &from,
                           size_t sizeBytes, gpu::Stream stream) const {
  return {copyBetween.symbol, copyBetween(destination, to.number, source, from.number, sizeBytes, stream)};
}

GpuResult HipApi::allocate(gpu::Address *address, size_t sizeBytes, Caching caching) const {
  if (caching == Caching::Normal)
    return {memoryAllocate.symbol, memoryAllocate(address, sizeBytes)};
  unsigned flags = caching == Caching::FineGrained ? hip::mallocFineGrained : hip::mallocUncached;
  return {allocateWithFlags.symbol, allocateWithFlags(address, sizeBytes, flags)};
}

} // namespace heddle
