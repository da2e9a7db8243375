// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The CUDA driver library, opened at run time: the entry points that Heddle calls beside those of GpuApi.h, and the few
// layouts and values they take. Source: CUDA driver API, 13.0.
#pragma once
#include "runtime/drivers/gpu/GpuApi.h"

namespace heddle {
namespace cuda {

using gpu::Result, gpu::DeviceNumber, gpu::Address, gpu::Stream, gpu::Event, gpu::Module, gpu::Function, gpu::Graph,
    gpu::GraphExec, gpu::HostFunction;
using gpu::streamNonBlocking, gpu::hostAllocPortable, gpu::captureRelaxed, gpu::captureNone, gpu::pointerMemoryType,
    gpu::memoryTypeHost;
using Context = struct ContextHandle *;
using Link = struct LinkHandle *;

struct LaunchAttribute {
  int id;
  char padding[4];
  union Value {
    char bytes[64];
    int cooperative, dependent;
  } value;
};

struct LaunchConfig {
  uint32_t grid[3], block[3], sharedBytes;
  Stream stream;
  LaunchAttribute *attributes;
  uint32_t attributeCount;
};

/// Opaque; aligned as since CUDA 13, 64 before.
struct alignas(128) TensorMap {
  char bytes[128];
};

using MemoryHandle = unsigned long long;

/// Where memory is: on a device.
struct MemoryLocation {
  int type, id;
};
struct MemoryProperties {
  int type, handleTypes;
  MemoryLocation location;
  void *metaData;
  unsigned char flags[8];
};
struct MemoryAccess {
  MemoryLocation location;
  int access;
};
struct IpcHandle {
  char bytes[64];
};
struct DeviceId {
  char bytes[16];
};

static_assert(sizeof(MemoryProperties) == 32 && offsetof(MemoryProperties, location) == 8 &&
              offsetof(MemoryProperties, metaData) == 16 && sizeof(MemoryAccess) == 12);
static_assert(sizeof(DeviceNumber) == 4 && sizeof(Address) == 8);
static_assert(sizeof(LaunchAttribute) == 72 && offsetof(LaunchAttribute, value) == 8);
static_assert(sizeof(LaunchConfig) == 56 && offsetof(LaunchConfig, block) == 12 &&
              offsetof(LaunchConfig, sharedBytes) == 24 && offsetof(LaunchConfig, stream) == 32 &&
              offsetof(LaunchConfig, attributes) == 40 && offsetof(LaunchConfig, attributeCount) == 48);

namespace result {
using namespace gpu::result;
inline constexpr Result invalidPtx = 218, unsupportedPtxVersion = 222;
} // namespace result

namespace attribute { // of a device
inline constexpr int multiprocessorCount = 16, capabilityMajor = 75, capabilityMinor = 76, maxSharedPerBlock = 97,
                     virtualMemory = 102, memoryDescriptors = 103;
} // namespace attribute

namespace function { // attributes of a function
using namespace gpu::function;
inline constexpr int maxDynamicShared = 8;
} // namespace function

namespace jit {
inline constexpr int infoLog = 3, infoLogSize = 4, errorLog = 5, errorLogSize = 6, target = 9, inputPtx = 1;
inline constexpr int acceleratedTarget = 0x10000; ///< added for sm_90a
} // namespace jit

namespace tensorMap {
inline constexpr int typeU8 = 0, typeU16 = 1, typeI32 = 3, typeI64 = 5, typeF16 = 6, typeF32 = 7, typeF64 = 8,
                     typeBF16 = 9;
inline constexpr int notInterleaved = 0, promotionOf128Bytes = 2, outsideIsZero = 0;
inline constexpr int swizzleNone = 0, swizzle32 = 1, swizzle64 = 2, swizzle128 = 3;
} // namespace tensorMap

namespace memory { // physical memory that is mapped, and may be mapped by other processes
inline constexpr int pinned = 1, fileDescriptor = 1, onDevice = 1, readWrite = 3, minimumGranularity = 0;
inline constexpr unsigned ipcLazyPeerAccess = 1;
} // namespace memory

inline constexpr int limitStackBytes = 0;                        ///< of a context: local memory of a thread
inline constexpr int launchCooperative = 2, launchDependent = 6; ///< attributes of a launch

} // namespace cuda

// X(name, exported symbol, parameter types). What old drivers lack is in the second list, and null there. The fake of
// the tests exports the same list.
#define HEDDLE_CUDA_REQUIRED(X)                                                                                        \
  X(deviceTotalMemory, cuDeviceTotalMem_v2, size_t *, cuda::DeviceNumber)                                              \
  X(primaryContextRetain, cuDevicePrimaryCtxRetain, cuda::Context *, cuda::DeviceNumber)                               \
  X(primaryContextRelease, cuDevicePrimaryCtxRelease_v2, cuda::DeviceNumber)                                           \
  X(contextSetCurrent, cuCtxSetCurrent, cuda::Context)                                                                 \
  X(contextGetCurrent, cuCtxGetCurrent, cuda::Context *)                                                               \
  X(contextSynchronize, cuCtxSynchronize)                                                                              \
  X(contextGetLimit, cuCtxGetLimit, size_t *, int)                                                                     \
  X(contextSetLimit, cuCtxSetLimit, int, size_t)                                                                       \
  X(contextEnablePeerAccess, cuCtxEnablePeerAccess, cuda::Context, unsigned)                                           \
  X(copyBetween, cuMemcpyPeerAsync, cuda::Address, cuda::Context, cuda::Address, cuda::Context, size_t, cuda::Stream)  \
  X(linkCreate, cuLinkCreate_v2, unsigned, int *, void **, cuda::Link *)                                               \
  X(linkAddData, cuLinkAddData_v2, cuda::Link, int, void *, size_t, const char *, unsigned, int *, void **)            \
  X(linkComplete, cuLinkComplete, cuda::Link, void **, size_t *)                                                       \
  X(linkDestroy, cuLinkDestroy, cuda::Link)                                                                            \
  X(moduleLoad, cuModuleLoadDataEx, cuda::Module *, const void *, unsigned, int *, void **)                            \
  X(functionSetAttribute, cuFuncSetAttribute, cuda::Function, int, int)                                                \
  X(tensorMapEncode, cuTensorMapEncodeTiled, cuda::TensorMap *, int, uint32_t, void *, const uint64_t *,               \
    const uint64_t *, const uint32_t *, const uint32_t *, int, int, int, int)                                          \
  X(launchKernelEx, cuLaunchKernelEx, const cuda::LaunchConfig *, cuda::Function, void **, void **)

#define HEDDLE_CUDA_OPTIONAL(X)                                                                                        \
  X(eventElapsedTimeV2, cuEventElapsedTime_v2, float *, cuda::Event, cuda::Event)                                      \
  X(functionLoad, cuFuncLoad, cuda::Function)                                                                          \
  X(functionGetParamInfo, cuFuncGetParamInfo, cuda::Function, size_t, size_t *, size_t *)                              \
  X(streamGetCaptureInfo, cuStreamGetCaptureInfo_v3, cuda::Stream, int *, unsigned long long *, cuda::Graph *,         \
    const void ***, const void **, size_t *)                                                                           \
  X(graphAddEventRecord, cuGraphAddEventRecordNode, void **, cuda::Graph, void *const *, size_t, cuda::Event)          \
  X(graphAddDependencies, cuGraphAddDependencies_v2, cuda::Graph, void *const *, void *const *, const void *, size_t)  \
  X(graphRemoveDependencies, cuGraphRemoveDependencies_v2, cuda::Graph, void *const *, void *const *, const void *,    \
    size_t)                                                                                                            \
  X(streamGetId, cuStreamGetId, cuda::Stream, unsigned long long *)                                                    \
  X(threadExchangeCaptureMode, cuThreadExchangeStreamCaptureMode, int *)                                               \
  X(deviceGetUuid, cuDeviceGetUuid_v2, cuda::DeviceId *, cuda::DeviceNumber)                                           \
  X(memoryGranularity, cuMemGetAllocationGranularity, size_t *, const cuda::MemoryProperties *, int)                   \
  X(memoryCreate, cuMemCreate, cuda::MemoryHandle *, size_t, const cuda::MemoryProperties *, unsigned long long)       \
  X(memoryRelease, cuMemRelease, cuda::MemoryHandle)                                                                   \
  X(memoryExport, cuMemExportToShareableHandle, void *, cuda::MemoryHandle, int, unsigned long long)                   \
  X(memoryRetain, cuMemRetainAllocationHandle, cuda::MemoryHandle *, void *)                                           \
  X(addressRange, cuMemGetAddressRange_v2, cuda::Address *, size_t *, cuda::Address)                                   \
  X(memoryImport, cuMemImportFromShareableHandle, cuda::MemoryHandle *, void *, int)                                   \
  X(addressReserve, cuMemAddressReserve, cuda::Address *, size_t, size_t, cuda::Address, unsigned long long)           \
  X(addressFree, cuMemAddressFree, cuda::Address, size_t)                                                              \
  X(memoryMap, cuMemMap, cuda::Address, size_t, size_t, cuda::MemoryHandle, unsigned long long)                        \
  X(memoryUnmap, cuMemUnmap, cuda::Address, size_t)                                                                    \
  X(memorySetAccess, cuMemSetAccess, cuda::Address, size_t, const cuda::MemoryAccess *, size_t)                        \
  X(ipcGetHandle, cuIpcGetMemHandle, cuda::IpcHandle *, cuda::Address)                                                 \
  X(ipcOpenHandle, cuIpcOpenMemHandle_v2, cuda::Address *, cuda::IpcHandle, unsigned)                                  \
  X(ipcCloseHandle, cuIpcCloseMemHandle, cuda::Address)

template <typename... Parameters>
using CudaFunction = GpuFunction<Parameters...>;

class CudaApi : public GpuApi {
public:
  /// Throws Error{Environment}: no such library, an entry point that it lacks, no device, a driver that does not fit
  /// the kernel module.
  explicit CudaApi(const std::string &libraryPath);

  std::string versionText() const override;
  std::optional<uintptr_t> makeCurrent(const GpuContext &context) const override;
  void putBack(uintptr_t before) const override;
  void release(const GpuContext &context) const override;
  GpuResult enablePeer(const GpuContext &from, const GpuContext &to) const override;
  GpuResult copyPeer(gpu::Address destination, const GpuContext &to, gpu::Address source, const GpuContext &from,
                     size_t sizeBytes, gpu::Stream stream) const override;
  GpuResult allocate(gpu::Address *address, size_t sizeBytes, Caching caching) const override;
  GpuResult captureOf(gpu::Stream stream, uint64_t *id) const override;
  uint64_t idOf(gpu::Stream stream) const override;
  bool hasEventsAcrossGraphs() const override {
    return streamGetCaptureInfo && graphAddEventRecord && graphAddDependencies && graphRemoveDependencies;
  }
  GpuResult recordInGraph(gpu::Stream stream, gpu::Event event, gpu::GraphRecord &latest) const override;

#define HEDDLE_CUDA_MEMBER(name, symbol, ...) CudaFunction<__VA_ARGS__> name{nullptr};
  HEDDLE_CUDA_REQUIRED(HEDDLE_CUDA_MEMBER)
  HEDDLE_CUDA_OPTIONAL(HEDDLE_CUDA_MEMBER)
#undef HEDDLE_CUDA_MEMBER
};

/// `13.0` for 13000.
std::string cudaVersionText(int version);

} // namespace heddle
