// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The CUDA driver library, opened at run time: one table of the entry points that Heddle calls, the few layouts and
// values they take, and errors that say which call failed, how, and what to do. Source: CUDA driver API, 13.0.
#pragma once
#include "support/Error.h"
#include <cstddef>
#include <cstdint>
#include <string>

namespace heddle {
namespace cuda {

using Result = int;
using DeviceNumber = int;
using Address = uint64_t;
using Context = struct ContextHandle *;
using Stream = struct StreamHandle *;
using Event = struct EventHandle *;
using Module = struct ModuleHandle *;
using Function = struct FunctionHandle *;
using Graph = struct GraphHandle *;
using GraphExec = struct GraphExecHandle *;
using Link = struct LinkHandle *;
using HostFunction = void (*)(void *);

struct LaunchAttribute {
  int id;
  char padding[4];
  union {
    char bytes[64];
    uint32_t clusterDimension[3];
    int cooperative;
  } value;
};

struct LaunchConfig {
  uint32_t grid[3], block[3], sharedBytes;
  Stream stream;
  LaunchAttribute *attributes;
  uint32_t attributeCount;
};

static_assert(sizeof(DeviceNumber) == 4 && sizeof(Address) == 8);
static_assert(sizeof(LaunchAttribute) == 72 && offsetof(LaunchAttribute, value) == 8);
static_assert(sizeof(LaunchConfig) == 56 && offsetof(LaunchConfig, block) == 12 &&
              offsetof(LaunchConfig, sharedBytes) == 24 && offsetof(LaunchConfig, stream) == 32 &&
              offsetof(LaunchConfig, attributes) == 40 && offsetof(LaunchConfig, attributeCount) == 48);

namespace result {
inline constexpr Result success = 0, invalidValue = 1, outOfMemory = 2, deinitialized = 4, invalidImage = 200,
                        noBinaryForGpu = 209, invalidPtx = 218, unsupportedPtxVersion = 222, notFound = 500,
                        notReady = 600, illegalAddress = 700, outOfResources = 701, timeout = 702,
                        peerAlreadyEnabled = 704, launchFailed = 719, cooperativeTooLarge = 720,
                        captureUnsupported = 900, captureInvalidated = 901, captureWrongThread = 908;
} // namespace result

namespace attribute { // of a device
inline constexpr int multiprocessorCount = 16, capabilityMajor = 75, capabilityMinor = 76, maxSharedPerBlock = 97;
} // namespace attribute

namespace function { // attributes of a function
inline constexpr int maxThreadsPerBlock = 0, sharedBytes = 1, localBytes = 3, registers = 4, maxDynamicShared = 8,
                     nonPortableCluster = 14;
} // namespace function

namespace jit {
inline constexpr int infoLog = 3, infoLogSize = 4, errorLog = 5, errorLogSize = 6, target = 9, inputPtx = 1;
inline constexpr int acceleratedTarget = 0x10000; ///< added for sm_90a
} // namespace jit

inline constexpr int limitStackBytes = 0; ///< of a context: local memory of a thread
inline constexpr int launchCooperative = 2, launchCluster = 4;
inline constexpr unsigned streamNonBlocking = 1, hostAllocPortable = 1;
inline constexpr int captureRelaxed = 2, captureNone = 0;
inline constexpr int pointerMemoryType = 2, memoryTypeHost = 1;

} // namespace cuda

// X(name, exported symbol, parameter types). What old drivers lack is in the second list, and null there. The fake of
// the tests exports the same list.
#define HEDDLE_CUDA_REQUIRED(X)                                                                                        \
  X(init, cuInit, unsigned)                                                                                            \
  X(driverGetVersion, cuDriverGetVersion, int *)                                                                       \
  X(getErrorName, cuGetErrorName, cuda::Result, const char **)                                                         \
  X(getErrorString, cuGetErrorString, cuda::Result, const char **)                                                     \
  X(deviceGetCount, cuDeviceGetCount, int *)                                                                           \
  X(deviceGet, cuDeviceGet, cuda::DeviceNumber *, int)                                                                 \
  X(deviceGetName, cuDeviceGetName, char *, int, cuda::DeviceNumber)                                                   \
  X(deviceGetAttribute, cuDeviceGetAttribute, int *, int, cuda::DeviceNumber)                                          \
  X(deviceTotalMemory, cuDeviceTotalMem_v2, size_t *, cuda::DeviceNumber)                                              \
  X(deviceCanAccessPeer, cuDeviceCanAccessPeer, int *, cuda::DeviceNumber, cuda::DeviceNumber)                         \
  X(primaryContextRetain, cuDevicePrimaryCtxRetain, cuda::Context *, cuda::DeviceNumber)                               \
  X(primaryContextRelease, cuDevicePrimaryCtxRelease_v2, cuda::DeviceNumber)                                           \
  X(contextSetCurrent, cuCtxSetCurrent, cuda::Context)                                                                 \
  X(contextGetCurrent, cuCtxGetCurrent, cuda::Context *)                                                               \
  X(contextSynchronize, cuCtxSynchronize)                                                                              \
  X(contextGetLimit, cuCtxGetLimit, size_t *, int)                                                                     \
  X(contextSetLimit, cuCtxSetLimit, int, size_t)                                                                       \
  X(contextEnablePeerAccess, cuCtxEnablePeerAccess, cuda::Context, unsigned)                                           \
  X(memoryGetInfo, cuMemGetInfo_v2, size_t *, size_t *)                                                                \
  X(memoryAllocate, cuMemAlloc_v2, cuda::Address *, size_t)                                                            \
  X(memoryFree, cuMemFree_v2, cuda::Address)                                                                           \
  X(hostAllocate, cuMemHostAlloc, void **, size_t, unsigned)                                                           \
  X(hostFree, cuMemFreeHost, void *)                                                                                   \
  X(pointerGetAttribute, cuPointerGetAttribute, void *, int, cuda::Address)                                            \
  X(copyToDevice, cuMemcpyHtoDAsync_v2, cuda::Address, const void *, size_t, cuda::Stream)                             \
  X(copyToHost, cuMemcpyDtoHAsync_v2, void *, cuda::Address, size_t, cuda::Stream)                                     \
  X(copyOnDevice, cuMemcpyDtoDAsync_v2, cuda::Address, cuda::Address, size_t, cuda::Stream)                            \
  X(copyPeer, cuMemcpyPeerAsync, cuda::Address, cuda::Context, cuda::Address, cuda::Context, size_t, cuda::Stream)     \
  X(fillBytes, cuMemsetD8Async, cuda::Address, unsigned char, size_t, cuda::Stream)                                    \
  X(streamCreate, cuStreamCreateWithPriority, cuda::Stream *, unsigned, int)                                           \
  X(streamDestroy, cuStreamDestroy_v2, cuda::Stream)                                                                   \
  X(streamSynchronize, cuStreamSynchronize, cuda::Stream)                                                              \
  X(streamQuery, cuStreamQuery, cuda::Stream)                                                                          \
  X(streamWaitEvent, cuStreamWaitEvent, cuda::Stream, cuda::Event, unsigned)                                           \
  X(streamIsCapturing, cuStreamIsCapturing, cuda::Stream, int *)                                                       \
  X(streamBeginCapture, cuStreamBeginCapture_v2, cuda::Stream, int)                                                    \
  X(streamEndCapture, cuStreamEndCapture, cuda::Stream, cuda::Graph *)                                                 \
  X(graphInstantiate, cuGraphInstantiateWithFlags, cuda::GraphExec *, cuda::Graph, unsigned long long)                 \
  X(graphUpload, cuGraphUpload, cuda::GraphExec, cuda::Stream)                                                         \
  X(graphLaunch, cuGraphLaunch, cuda::GraphExec, cuda::Stream)                                                         \
  X(graphExecDestroy, cuGraphExecDestroy, cuda::GraphExec)                                                             \
  X(graphDestroy, cuGraphDestroy, cuda::Graph)                                                                         \
  X(eventCreate, cuEventCreate, cuda::Event *, unsigned)                                                               \
  X(eventDestroy, cuEventDestroy_v2, cuda::Event)                                                                      \
  X(eventRecord, cuEventRecord, cuda::Event, cuda::Stream)                                                             \
  X(eventQuery, cuEventQuery, cuda::Event)                                                                             \
  X(eventSynchronize, cuEventSynchronize, cuda::Event)                                                                 \
  X(eventElapsedTime, cuEventElapsedTime, float *, cuda::Event, cuda::Event)                                           \
  X(launchHostFunction, cuLaunchHostFunc, cuda::Stream, cuda::HostFunction, void *)                                    \
  X(linkCreate, cuLinkCreate_v2, unsigned, int *, void **, cuda::Link *)                                               \
  X(linkAddData, cuLinkAddData_v2, cuda::Link, int, void *, size_t, const char *, unsigned, int *, void **)            \
  X(linkComplete, cuLinkComplete, cuda::Link, void **, size_t *)                                                       \
  X(linkDestroy, cuLinkDestroy, cuda::Link)                                                                            \
  X(moduleLoad, cuModuleLoadDataEx, cuda::Module *, const void *, unsigned, int *, void **)                            \
  X(moduleUnload, cuModuleUnload, cuda::Module)                                                                        \
  X(moduleGetFunction, cuModuleGetFunction, cuda::Function *, cuda::Module, const char *)                              \
  X(functionSetAttribute, cuFuncSetAttribute, cuda::Function, int, int)                                                \
  X(functionGetAttribute, cuFuncGetAttribute, int *, int, cuda::Function)                                              \
  X(maxActiveBlocks, cuOccupancyMaxActiveBlocksPerMultiprocessor, int *, cuda::Function, int, size_t)                  \
  X(maxActiveClusters, cuOccupancyMaxActiveClusters, int *, cuda::Function, const cuda::LaunchConfig *)                \
  X(launchKernel, cuLaunchKernel, cuda::Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,          \
    unsigned, cuda::Stream, void **, void **)                                                                          \
  X(launchCooperative, cuLaunchCooperativeKernel, cuda::Function, unsigned, unsigned, unsigned, unsigned, unsigned,    \
    unsigned, unsigned, cuda::Stream, void **)                                                                         \
  X(launchKernelEx, cuLaunchKernelEx, const cuda::LaunchConfig *, cuda::Function, void **, void **)

#define HEDDLE_CUDA_OPTIONAL(X)                                                                                        \
  X(eventElapsedTimeV2, cuEventElapsedTime_v2, float *, cuda::Event, cuda::Event)                                      \
  X(functionLoad, cuFuncLoad, cuda::Function)                                                                          \
  X(functionGetParamInfo, cuFuncGetParamInfo, cuda::Function, size_t, size_t *, size_t *)

/// One entry point of a library. Calling it gives the raw result.
template <typename Result, typename... Parameters>
struct LibraryFunction {
  const char *symbol;
  Result (*pointer)(Parameters...) = nullptr;

  Result operator()(Parameters... arguments) const { return pointer(arguments...); }
  explicit operator bool() const { return pointer; }
};

template <typename... Parameters>
using CudaFunction = LibraryFunction<cuda::Result, Parameters...>;

/// The opened library, after cuInit. The library stays open for the life of the process: its threads may.
class CudaApi {
public:
  /// Throws Error{Environment}: no such library, an entry point that it lacks, no device, a driver that does not fit
  /// the kernel module.
  explicit CudaApi(const std::string &libraryPath);

  /// `where: cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory`, with what is known to help as notes.
  Error error(const std::string &where, const char *symbol, cuda::Result result) const;

  /// Throws `error` for anything but success.
  template <typename... Parameters, typename... Arguments>
  void call(const std::string &where, const CudaFunction<Parameters...> &function, Arguments... arguments) const {
    if (cuda::Result result = function(arguments...))
      throw error(where, function.symbol, result);
  }

  const std::string &library() const { return path; }
  int version() const { return driverVersion; } ///< 13000 is CUDA 13.0

#define HEDDLE_CUDA_MEMBER(name, symbol, ...) CudaFunction<__VA_ARGS__> name{#symbol};
  HEDDLE_CUDA_REQUIRED(HEDDLE_CUDA_MEMBER)
  HEDDLE_CUDA_OPTIONAL(HEDDLE_CUDA_MEMBER)
#undef HEDDLE_CUDA_MEMBER

private:
  std::string path;
  int driverVersion = 0;
};

/// `13.0` for 13000.
std::string cudaVersionText(int version);

} // namespace heddle
