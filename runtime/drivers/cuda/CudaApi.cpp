// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Opening the library, and what is known about each of its errors.
#include "runtime/drivers/cuda/CudaApi.h"
#include "runtime/drivers/gpu/GpuContext.h"
#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace heddle {
namespace {

constexpr const char *lostContext =
    "the CUDA context of this process is lost, and every later call fails: start the program again";

constexpr gpu::Advice advice[] = {
    {3, "CUDA cannot be used in a process that was forked after it was initialised"},
    {100, "is a GPU in this machine, and does CUDA_VISIBLE_DEVICES leave it visible"},
    {101, "is a GPU in this machine, and does CUDA_VISIBLE_DEVICES leave it visible"},
    {cuda::result::noBinaryForGpu, "the code was made for another compute capability"},
    {221, "libnvidia-ptxjitcompiler.so.1, which comes with the driver, is not there"},
    {cuda::result::unsupportedPtxVersion,
     "the driver is older than the PTX: CUDA 12.7 reads PTX up to 8.6, 12.8 up to 8.7, 12.9 up to 8.8, 13.0 up to 9.0; "
     "update the driver, or compile for an older PTX version"},
    {cuda::result::illegalAddress, "a kernel accessed memory that is not there; `compute-sanitizer` finds the place"},
    {cuda::result::illegalAddress, lostContext},
    {cuda::result::outOfResources,
     "the block has more threads, registers or shared memory than a multiprocessor gives"},
    {cuda::result::timeout, "the system stops kernels that take long on a GPU with a display"},
    {cuda::result::timeout, lostContext},
    {710, lostContext},
    {714, lostContext},
    {715, lostContext},
    {716, "a kernel accessed an address that is no multiple of the access's size"},
    {716, lostContext},
    {717, lostContext},
    {718, lostContext},
    {cuda::result::launchFailed, lostContext},
    {cuda::result::cooperativeTooLarge, "all blocks of a cooperative launch must fit on the device at once"},
    {802, "the GPUs' fabric is not ready: is nvidia-fabricmanager running"},
    {803, "libcuda and the kernel's driver are of different versions: reboot after an update, or use the matching one"},
    {804, "this GPU needs a libcuda of the version of the kernel's driver"},
    {cuda::result::captureUnsupported, "a graph cannot hold this work: do it before or after the capture"},
    {cuda::result::captureInvalidated, "an earlier call did something that a graph cannot hold, and ended the capture"},
    {cuda::result::captureWrongThread, "a capture ends on the thread where it began"},
    {999, "the kernel's log (dmesg) may say more; are the files /dev/nvidia* there"},
};

constexpr gpu::Vendor vendorOfCuda = {
    .title = "CUDA",
    .library = "CUDA driver",
    .hint = "it comes with NVIDIA's driver; HEDDLE_CUDA_LIBRARY names it when it lies elsewhere",
    .old = "Heddle needs a driver for CUDA 12.0 or newer",
    .unitWord = "multiprocessors",
    .advice = advice,
    .unitCount = cuda::attribute::multiprocessorCount,
    .sharedPerBlock = cuda::attribute::maxSharedPerBlock,
};

} // namespace

std::string cudaVersionText(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

CudaApi::CudaApi(const std::string &libraryPath) : GpuApi(vendorOfCuda) {
  open(std::array{libraryPath});
#define HEDDLE_CUDA_FIND(name, symbol, ...) find(name, #symbol);
#define HEDDLE_GPU_FIND(name, cudaSymbol, hipSymbol, ...) find(name, #cudaSymbol);
#define HEDDLE_CUDA_FIND_OPTIONAL(name, symbol, ...) find(name, #symbol, false);
  HEDDLE_GPU_ENTRIES(HEDDLE_GPU_FIND)
  HEDDLE_CUDA_REQUIRED(HEDDLE_CUDA_FIND)
  HEDDLE_CUDA_OPTIONAL(HEDDLE_CUDA_FIND_OPTIONAL)
#undef HEDDLE_CUDA_FIND
#undef HEDDLE_GPU_FIND
#undef HEDDLE_CUDA_FIND_OPTIONAL
  if (eventElapsedTimeV2)
    eventElapsedTime = eventElapsedTimeV2;
  initialise();
}

std::string CudaApi::versionText() const {
  return "CUDA " + cudaVersionText(version());
}

std::optional<uintptr_t> CudaApi::makeCurrent(const GpuContext &context) const {
  cuda::Context before = nullptr;
  context.call(contextGetCurrent, &before);
  if (before == context.handle)
    return std::nullopt;
  context.call(contextSetCurrent, static_cast<cuda::Context>(context.handle));
  return reinterpret_cast<uintptr_t>(before);
}

void CudaApi::putBack(uintptr_t before) const {
  contextSetCurrent(reinterpret_cast<cuda::Context>(before));
}

void CudaApi::release(const GpuContext &context) const {
  primaryContextRelease(context.number);
}

GpuResult CudaApi::enablePeer(const GpuContext &, const GpuContext &to) const {
  return {contextEnablePeerAccess.symbol, contextEnablePeerAccess(static_cast<cuda::Context>(to.handle), 0u)};
}

GpuResult CudaApi::copyPeer(gpu::Address destination, const GpuContext &to, gpu::Address source, const GpuContext &from,
                            size_t sizeBytes, gpu::Stream stream) const {
  return {copyBetween.symbol, copyBetween(destination, static_cast<cuda::Context>(to.handle), source,
                                          static_cast<cuda::Context>(from.handle), sizeBytes, stream)};
}

GpuResult CudaApi::captureOf(gpu::Stream stream, uint64_t *id) const {
  if (!streamGetCaptureInfo)
    return GpuApi::captureOf(stream, id);
  int status = 0;
  unsigned long long number = 0;
  gpu::Result result = streamGetCaptureInfo(stream, &status, &number, nullptr, nullptr, nullptr, nullptr);
  *id = status != gpu::captureNone ? number : 0;
  return {streamGetCaptureInfo.symbol, result};
}

/// An error, as for a stream that is being captured, leaves it unknown.
uint64_t CudaApi::idOf(gpu::Stream stream) const {
  constexpr uintptr_t legacy = 1, perThread = 2;
  auto handle = reinterpret_cast<uintptr_t>(stream);
  if (handle <= legacy) // also null: one stream for the life of the context
    return UINT64_MAX;
  unsigned long long id = 0;
  if (handle == perThread || !streamGetId || streamGetId(stream, &id)) // another stream on each thread
    return 0;
  return id;
}

/// A node of its own, not a record in the stream, whose next kernel would wait for it. One for each graph: a node takes
/// time in every launch, so the next call moves it instead of adding another. Source: the guide of CUDA's driver
/// interface, event record nodes, and cuStreamGetCaptureInfo, which allows every operation on the graph but the removal
/// of nodes.
GpuResult CudaApi::recordInGraph(gpu::Stream stream, gpu::Event event, gpu::GraphRecord &latest) const {
  int status = 0;
  unsigned long long id = 0;
  cuda::Graph graph = nullptr;
  const void **nodes = nullptr, *edges = nullptr;
  size_t count = 0;
  gpu::Result result = streamGetCaptureInfo(stream, &status, &id, &graph, &nodes, &edges, &count);
  if (result || status == gpu::captureNone)
    return {streamGetCaptureInfo.symbol, result};
  std::vector<void *> before;
  for (size_t i = 0; i < count; ++i)
    before.push_back(const_cast<void *>(nodes[i]));
  void *former = latest.capture == id ? latest.node : nullptr;
  std::vector<void *> record(std::max(latest.before.size(), before.size()), former);
  bool isFree =
      former && !graphRemoveDependencies(graph, latest.before.data(), record.data(), nullptr, latest.before.size());
  latest = {id, former, before};
  if (isFree)
    return {graphAddDependencies.symbol,
            graphAddDependencies(graph, before.data(), record.data(), nullptr, before.size())};
  if (former) // of several records the last is the one that counts
    before.push_back(former);
  result = graphAddEventRecord(&latest.node, graph, before.data(), before.size(), event);
  return {graphAddEventRecord.symbol, result};
}

/// CUDA's devices keep all their memory coherent for their peers.
GpuResult CudaApi::allocate(gpu::Address *address, size_t sizeBytes, Caching) const {
  return {memoryAllocate.symbol, memoryAllocate(address, sizeBytes)};
}

} // namespace heddle
