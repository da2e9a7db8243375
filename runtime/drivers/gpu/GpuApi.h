// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What CUDA's driver library and HIP's have in common, which is nearly everything: HIP was made after CUDA, with the
// same parameters and the same numbers for errors. So there is one table of entry points, filled from either library,
// and one driver above it (streams, events, graphs, memory); what differs is a virtual function of GpuApi, filled in by
// CudaApi and HipApi, and the loading of code. Source: CUDA driver API, 13.0; HIP 6.0 to 7.1, hip_runtime_api.h.
#pragma once
#include "support/Error.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace heddle {

enum class Caching;

namespace gpu {

using Result = int;
using DeviceNumber = int;
using Address = uint64_t;
using Stream = struct StreamHandle *;
using Event = struct EventHandle *;
using Module = struct ModuleHandle *;
using Function = struct FunctionHandle *;
using Graph = struct GraphHandle *;
using GraphExec = struct GraphExecHandle *;
using HostFunction = void (*)(void *);

namespace result { // the same in both
inline constexpr Result success = 0, invalidValue = 1, outOfMemory = 2, deinitialized = 4, noDevice = 100,
                        invalidImage = 200, noBinaryForGpu = 209, notFound = 500, notReady = 600, illegalAddress = 700,
                        outOfResources = 701, timeout = 702, peerAlreadyEnabled = 704, launchFailed = 719,
                        cooperativeTooLarge = 720, captureUnsupported = 900, captureInvalidated = 901,
                        captureWrongThread = 908;
} // namespace result

namespace function { // attributes of a function
inline constexpr int maxThreadsPerBlock = 0, sharedBytes = 1, localBytes = 3, registers = 4;
} // namespace function

inline constexpr unsigned streamNonBlocking = 1, hostAllocPortable = 1;
inline constexpr int captureRelaxed = 2, captureNone = 0;
inline constexpr int pointerMemoryType = 2, memoryTypeHost = 1;

/// What else there is to say of an error.
struct Advice {
  Result result;
  const char *text;
};

/// A vendor's words and numbers.
struct Vendor {
  const char *title;    ///< `CUDA`
  const char *library;  ///< `CUDA driver`
  const char *hint;     ///< what to do when the library cannot be opened
  const char *old;      ///< when it lacks an entry point
  const char *unitWord; ///< `multiprocessors`
  std::span<const Advice> advice;
  int unitCount, sharedPerBlock; ///< attributes of a device
};

inline constexpr unsigned waitExternal = 1; ///< in a graph, for a record of another one

/// The latest record of an event in a graph that is being captured.
struct GraphRecord {
  uint64_t capture = 0;
  void *node = nullptr;
  std::vector<void *> before = {}; ///< the work that it depends on
};

} // namespace gpu

// X(name, symbol of CUDA, symbol of HIP, parameter types). The fakes of the tests export the same list.
#define HEDDLE_GPU_ENTRIES(X)                                                                                          \
  X(init, cuInit, hipInit, unsigned)                                                                                   \
  X(driverGetVersion, cuDriverGetVersion, hipDriverGetVersion, int *)                                                  \
  X(getErrorName, cuGetErrorName, hipDrvGetErrorName, gpu::Result, const char **)                                      \
  X(getErrorString, cuGetErrorString, hipDrvGetErrorString, gpu::Result, const char **)                                \
  X(deviceGetCount, cuDeviceGetCount, hipGetDeviceCount, int *)                                                        \
  X(deviceGet, cuDeviceGet, hipDeviceGet, gpu::DeviceNumber *, int)                                                    \
  X(deviceGetName, cuDeviceGetName, hipDeviceGetName, char *, int, gpu::DeviceNumber)                                  \
  X(deviceGetAttribute, cuDeviceGetAttribute, hipDeviceGetAttribute, int *, int, gpu::DeviceNumber)                    \
  X(deviceCanAccessPeer, cuDeviceCanAccessPeer, hipDeviceCanAccessPeer, int *, gpu::DeviceNumber, gpu::DeviceNumber)   \
  X(memoryGetInfo, cuMemGetInfo_v2, hipMemGetInfo, size_t *, size_t *)                                                 \
  X(memoryAllocate, cuMemAlloc_v2, hipMalloc, gpu::Address *, size_t)                                                  \
  X(memoryFree, cuMemFree_v2, hipFree, gpu::Address)                                                                   \
  X(hostAllocate, cuMemHostAlloc, hipHostMalloc, void **, size_t, unsigned)                                            \
  X(hostFree, cuMemFreeHost, hipHostFree, void *)                                                                      \
  X(pointerGetAttribute, cuPointerGetAttribute, hipPointerGetAttribute, void *, int, gpu::Address)                     \
  X(copyToDevice, cuMemcpyHtoDAsync_v2, hipMemcpyHtoDAsync, gpu::Address, const void *, size_t, gpu::Stream)           \
  X(copyToHost, cuMemcpyDtoHAsync_v2, hipMemcpyDtoHAsync, void *, gpu::Address, size_t, gpu::Stream)                   \
  X(copyOnDevice, cuMemcpyDtoDAsync_v2, hipMemcpyDtoDAsync, gpu::Address, gpu::Address, size_t, gpu::Stream)           \
  X(fillBytes, cuMemsetD8Async, hipMemsetD8Async, gpu::Address, unsigned char, size_t, gpu::Stream)                    \
  X(streamCreate, cuStreamCreateWithPriority, hipStreamCreateWithPriority, gpu::Stream *, unsigned, int)               \
  X(streamDestroy, cuStreamDestroy_v2, hipStreamDestroy, gpu::Stream)                                                  \
  X(streamSynchronize, cuStreamSynchronize, hipStreamSynchronize, gpu::Stream)                                         \
  X(streamQuery, cuStreamQuery, hipStreamQuery, gpu::Stream)                                                           \
  X(streamWaitEvent, cuStreamWaitEvent, hipStreamWaitEvent, gpu::Stream, gpu::Event, unsigned)                         \
  X(streamIsCapturing, cuStreamIsCapturing, hipStreamIsCapturing, gpu::Stream, int *)                                  \
  X(streamBeginCapture, cuStreamBeginCapture_v2, hipStreamBeginCapture, gpu::Stream, int)                              \
  X(streamEndCapture, cuStreamEndCapture, hipStreamEndCapture, gpu::Stream, gpu::Graph *)                              \
  X(graphInstantiate, cuGraphInstantiateWithFlags, hipGraphInstantiateWithFlags, gpu::GraphExec *, gpu::Graph,         \
    unsigned long long)                                                                                                \
  X(graphUpload, cuGraphUpload, hipGraphUpload, gpu::GraphExec, gpu::Stream)                                           \
  X(graphLaunch, cuGraphLaunch, hipGraphLaunch, gpu::GraphExec, gpu::Stream)                                           \
  X(graphExecDestroy, cuGraphExecDestroy, hipGraphExecDestroy, gpu::GraphExec)                                         \
  X(graphDestroy, cuGraphDestroy, hipGraphDestroy, gpu::Graph)                                                         \
  X(eventCreate, cuEventCreate, hipEventCreateWithFlags, gpu::Event *, unsigned)                                       \
  X(eventDestroy, cuEventDestroy_v2, hipEventDestroy, gpu::Event)                                                      \
  X(eventRecord, cuEventRecord, hipEventRecord, gpu::Event, gpu::Stream)                                               \
  X(eventQuery, cuEventQuery, hipEventQuery, gpu::Event)                                                               \
  X(eventSynchronize, cuEventSynchronize, hipEventSynchronize, gpu::Event)                                             \
  X(eventElapsedTime, cuEventElapsedTime, hipEventElapsedTime, float *, gpu::Event, gpu::Event)                        \
  X(launchHostFunction, cuLaunchHostFunc, hipLaunchHostFunc, gpu::Stream, gpu::HostFunction, void *)                   \
  X(moduleUnload, cuModuleUnload, hipModuleUnload, gpu::Module)                                                        \
  X(moduleGetFunction, cuModuleGetFunction, hipModuleGetFunction, gpu::Function *, gpu::Module, const char *)          \
  X(functionGetAttribute, cuFuncGetAttribute, hipFuncGetAttribute, int *, int, gpu::Function)                          \
  X(maxActiveBlocks, cuOccupancyMaxActiveBlocksPerMultiprocessor, hipModuleOccupancyMaxActiveBlocksPerMultiprocessor,  \
    int *, gpu::Function, int, size_t)                                                                                 \
  X(launchKernel, cuLaunchKernel, hipModuleLaunchKernel, gpu::Function, unsigned, unsigned, unsigned, unsigned,        \
    unsigned, unsigned, unsigned, gpu::Stream, void **, void **)                                                       \
  X(launchCooperative, cuLaunchCooperativeKernel, hipModuleLaunchCooperativeKernel, gpu::Function, unsigned, unsigned, \
    unsigned, unsigned, unsigned, unsigned, unsigned, gpu::Stream, void **)

/// One entry point of a library. Calling it gives the raw result.
template <typename Result, typename... Parameters>
struct LibraryFunction {
  const char *symbol;
  Result (*pointer)(Parameters...) = nullptr;

  Result operator()(Parameters... arguments) const { return pointer(arguments...); }
  explicit operator bool() const { return pointer; }
};

template <typename... Parameters>
using GpuFunction = LibraryFunction<gpu::Result, Parameters...>;

/// What a call gave, and the entry point that gave it.
struct GpuResult {
  const char *symbol;
  gpu::Result result;
};

struct GpuContext;

/// An opened library, initialised. It stays open for the life of the process: its threads may.
class GpuApi {
public:
  virtual ~GpuApi() = default;

  /// `where: cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory`, with what is known to help as notes.
  Error error(const std::string &where, const char *symbol, gpu::Result result) const;

  /// Throws `error` for anything but success.
  template <typename... Parameters, typename... Arguments>
  void call(const std::string &where, const GpuFunction<Parameters...> &function, Arguments... arguments) const {
    check(where, {function.symbol, function(arguments...)});
  }
  void check(const std::string &where, GpuResult done) const {
    if (done.result)
      throw error(where, done.symbol, done.result);
  }

  const std::string &library() const { return path; }
  int version() const { return driverVersion; } ///< as the library counts: 13000 is CUDA 13.0
  virtual std::string versionText() const = 0;  ///< `CUDA 13.0`

  // ---- What the two do each in their way ----

  /// Makes the device current on this thread. What was before, to be put back; nothing when it was current.
  virtual std::optional<uintptr_t> makeCurrent(const GpuContext &context) const = 0;
  virtual void putBack(uintptr_t before) const = 0;
  virtual void release(const GpuContext &context) const = 0; ///< when the driver goes
  /// Lets kernels on `from`, which is current, use the memory of `to`.
  virtual GpuResult enablePeer(const GpuContext &from, const GpuContext &to) const = 0;
  /// Between devices that do not reach each other's memory.
  virtual GpuResult copyPeer(gpu::Address destination, const GpuContext &to, gpu::Address source,
                             const GpuContext &from, size_t sizeBytes, gpu::Stream stream) const = 0;
  /// On the current device.
  virtual GpuResult allocate(gpu::Address *address, size_t sizeBytes, Caching caching) const = 0;
  /// Stream::captureId of a stream. Where the library does not tell captures apart, 1 for any.
  virtual GpuResult captureOf(gpu::Stream stream, uint64_t *id) const {
    int status = 0;
    gpu::Result result = streamIsCapturing(stream, &status);
    *id = status != gpu::captureNone ? 1 : 0;
    return {streamIsCapturing.symbol, result};
  }

  /// Stream::id of a stream of the current device.
  virtual uint64_t idOf(gpu::Stream) const { return 0; }

  /// Whether graphs may record events for each other.
  virtual bool hasEventsAcrossGraphs() const { return false; }
  /// Into the graph that the stream is being captured into: a record of the event, which comes after the work of the
  /// stream so far and takes the place of `latest`, if that is of the same graph. Nothing waits for it.
  virtual GpuResult recordInGraph(gpu::Stream, gpu::Event, gpu::GraphRecord &latest) const {
    latest = {};
    return {"", gpu::result::success};
  }

#define HEDDLE_GPU_MEMBER(name, cudaSymbol, hipSymbol, ...) GpuFunction<__VA_ARGS__> name{nullptr};
  HEDDLE_GPU_ENTRIES(HEDDLE_GPU_MEMBER)
#undef HEDDLE_GPU_MEMBER

  const gpu::Vendor &vendor;

protected:
  explicit GpuApi(const gpu::Vendor &vendor) : vendor(vendor) {}
  /// Throws Error{Environment} for a library that is not there; `names` are tried in turn.
  void open(std::span<const std::string> names);
  /// Throws Error{Environment} for an entry point that is needed and not there.
  template <typename... Parameters>
  void find(GpuFunction<Parameters...> &function, const char *symbol, bool required = true) {
    function.symbol = symbol;
    function.pointer = reinterpret_cast<gpu::Result (*)(Parameters...)>(lookUp(symbol, required));
  }
  void initialise(); ///< when all are found

private:
  void *lookUp(const char *symbol, bool required) const;

  std::string path;
  void *handle = nullptr;
  int driverVersion = 0;
};

} // namespace heddle
