// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The HIP runtime library, opened at run time: the entry points that Heddle calls beside those of GpuApi.h. Device
// numbers stand where CUDA has contexts, and memory comes in kinds. Source: HIP 6.0 to 7.1, hip_runtime_api.h.
#pragma once
#include "runtime/drivers/gpu/GpuApi.h"

namespace heddle {
namespace hip {

/// hipDeviceProp_tR0600, of which one field is wanted that no other call gives.
struct DeviceProperties {
  char before[1160];
  char architecture[256]; ///< `gfx942:sramecc+:xnack-`
  char behind[56];
};
static_assert(sizeof(DeviceProperties) == 1472 && offsetof(DeviceProperties, architecture) == 1160);

namespace attribute { // of a device
inline constexpr int computeUnits = 63, maxSharedPerBlock = 74;
} // namespace attribute

/// For hipExtMallocWithFlags.
inline constexpr unsigned mallocFineGrained = 1, mallocUncached = 3;

/// What hipExtGetLinkTypeAndHopCount calls a link, as HSA numbers them.
inline constexpr uint32_t linkOfPcie = 2, linkOfXgmi = 4;

} // namespace hip

#define HEDDLE_HIP_OPTIONAL(X) X(getLink, hipExtGetLinkTypeAndHopCount, int, int, uint32_t *, uint32_t *)

#define HEDDLE_HIP_ENTRIES(X)                                                                                          \
  X(getDevice, hipGetDevice, int *)                                                                                    \
  X(setDevice, hipSetDevice, int)                                                                                      \
  X(getProperties, hipGetDevicePropertiesR0600, hip::DeviceProperties *, int)                                          \
  X(enablePeerAccess, hipDeviceEnablePeerAccess, int, unsigned)                                                        \
  X(copyBetween, hipMemcpyPeerAsync, gpu::Address, int, gpu::Address, int, size_t, gpu::Stream)                        \
  X(allocateWithFlags, hipExtMallocWithFlags, gpu::Address *, size_t, unsigned)                                        \
  X(moduleLoad, hipModuleLoadData, gpu::Module *, const void *)

class HipApi : public GpuApi {
public:
  /// Throws Error{Environment}: none of the libraries is there, an entry point that it lacks, no device.
  explicit HipApi(std::span<const std::string> libraries);

  std::string versionText() const override; ///< `HIP 6.3`
  std::optional<uintptr_t> makeCurrent(const GpuContext &context) const override;
  void putBack(uintptr_t before) const override;
  void release(const GpuContext &) const override {}
  GpuResult enablePeer(const GpuContext &from, const GpuContext &to) const override;
  GpuResult copyPeer(gpu::Address destination, const GpuContext &to, gpu::Address source, const GpuContext &from,
                     size_t sizeBytes, gpu::Stream stream) const override;
  /// Coarse-grained for data: the caches of the device may keep it until the kernel ends. Fine-grained and uncached
  /// memory is coherent with other devices while kernels run.
  GpuResult allocate(gpu::Address *address, size_t sizeBytes, Caching caching) const override;

#define HEDDLE_HIP_MEMBER(name, symbol, ...) GpuFunction<__VA_ARGS__> name{nullptr};
  HEDDLE_HIP_ENTRIES(HEDDLE_HIP_MEMBER)
  HEDDLE_HIP_OPTIONAL(HEDDLE_HIP_MEMBER)
#undef HEDDLE_HIP_MEMBER
};

} // namespace heddle
