// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cuda/CudaStream.h"
#include "binary/CudaAbi.h"
#include "runtime/LaunchReport.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace heddle {
namespace {

std::shared_ptr<CudaModule> requireModule(const Launch &launch, const CudaContext &gpu) {
  const std::string &kernel = launch.kernel.package().kernel;
  auto module = std::dynamic_pointer_cast<CudaModule>(launch.kernel.module);
  if (!module)
    throw inputError(fmt::format("kernel `{}` was loaded on a device of another driver", kernel));
  if (&module->context() != &gpu)
    throw inputError(
        fmt::format("kernel `{}` was loaded on {}, the stream is of {}", kernel, module->context().name, gpu.name),
        {"load it on each device that runs it"});
  return module;
}

void checkGrid(const Launch &launch, const CudaModule &module) {
  const Package &package = launch.kernel.package();
  const auto &[x, y, z] = launch.grid;
  if (y > cudaMaxGridYZ || z > cudaMaxGridYZ)
    throw inputError(fmt::format("kernel `{}`: grid {} x {} x {}: on a CUDA device y and z are at most {}",
                                 package.kernel, x, y, z, cudaMaxGridYZ));
  if (x % package.clusterSize != 0)
    throw inputError(fmt::format("kernel `{}`: grid {} x {} x {}: x must be a multiple of {}, the size of a cluster",
                                 package.kernel, x, y, z, package.clusterSize));
  if (!launch.cooperative)
    return;
  int64_t blocks = x * y * z, resident = module.residentBlocks();
  if (blocks <= resident)
    return;
  const CudaContext &gpu = module.context();
  std::string how = package.clusterSize > 1
                        ? fmt::format("{} clusters of {} blocks", resident / package.clusterSize, package.clusterSize)
                        : fmt::format("{} multiprocessors with {} blocks each", gpu.multiprocessors,
                                      module.residentBlocksPerMultiprocessor());
  throw inputError(fmt::format("kernel `{}`: a cooperative launch of {} blocks; {} runs at most {} at once",
                               package.kernel, blocks, gpu.name, resident),
                   {how});
}

/// The kernel's parameters: a slot of 8 bytes each, of which the driver reads as many as the parameter has.
struct Parameters {
  Parameters(const Launch &launch, uint64_t record) : slots(argumentSlots(launch)) {
    slots.push_back(record);
    for (uint64_t &slot : slots)
      pointers.push_back(&slot);
  }
  std::vector<uint64_t> slots;
  std::vector<void *> pointers;
};

/// Whether the driver has to start all blocks of a launch at once. A grid of which two fit is launched as any other:
/// its blocks find room, and it may run beside another of its kind on another stream, which CUDA keeps cooperative
/// launches from. Two collectives whose ranks start them in different orders would then wait for each other.
bool needsWholeDevice(const Launch &launch, const CudaModule &module) {
  return launch.cooperative && 2 * launch.grid[0] * launch.grid[1] * launch.grid[2] > module.residentBlocks();
}

/// A launch's result, and the entry point that gave it.
struct LaunchResult {
  const char *symbol;
  cuda::Result result;
};

LaunchResult launchClusters(const CudaApi &api, const CudaModule &module, const Launch &launch, cuda::Stream stream,
                            void **parameters) {
  const Package &package = module.package();
  cuda::LaunchAttribute attributes[2] = {};
  attributes[0].id = cuda::launchCluster;
  attributes[0].value.clusterDimension[0] = uint32_t(package.clusterSize);
  attributes[0].value.clusterDimension[1] = attributes[0].value.clusterDimension[2] = 1;
  attributes[1].id = cuda::launchCooperative;
  attributes[1].value.cooperative = 1;
  cuda::LaunchConfig config = {{uint32_t(launch.grid[0]), uint32_t(launch.grid[1]), uint32_t(launch.grid[2])},
                               {uint32_t(package.threads), 1, 1},
                               uint32_t(package.sharedBytes),
                               stream,
                               attributes,
                               needsWholeDevice(launch, module) ? 2u : 1u};
  return {api.launchKernelEx.symbol, api.launchKernelEx(&config, module.function(), parameters, nullptr)};
}

LaunchResult launchBlocks(const CudaApi &api, const CudaModule &module, const Launch &launch, cuda::Stream stream,
                          void **parameters) {
  auto x = unsigned(launch.grid[0]), y = unsigned(launch.grid[1]), z = unsigned(launch.grid[2]);
  auto threads = unsigned(module.package().threads), shared = unsigned(module.package().sharedBytes);
  if (needsWholeDevice(launch, module))
    return {api.launchCooperative.symbol,
            api.launchCooperative(module.function(), x, y, z, threads, 1, 1, shared, stream, parameters)};
  return {api.launchKernel.symbol,
          api.launchKernel(module.function(), x, y, z, threads, 1, 1, shared, stream, parameters, nullptr)};
}

} // namespace

CudaStream::CudaStream(std::shared_ptr<CudaDevice> theDevice) : device(std::move(theDevice)), gpu(device->context()) {
  CudaScope scope(gpu);
  // Not at the first copy: to pin memory takes long.
  staging = std::make_unique<CudaStaging>(gpu);
  gpu.call(gpu.api.streamCreate, &handle, cuda::streamNonBlocking, 0);
  gpu.gate.addStream(gpu, handle);
}

CudaStream::~CudaStream() {
  try {
    close();
  } catch (const Error &) { // nothing can be asked of a lost context
  }
  gpu.gate.collect();
}

void CudaStream::close() {
  CudaScope scope(gpu);
  if (capture) {
    cuda::Graph graph = nullptr;
    if (gpu.api.streamEndCapture(handle, &graph) == cuda::result::success && graph)
      gpu.api.graphDestroy(graph);
  }
  if (gpu.api.streamSynchronize(handle))
    pending.abandonCalls();
  gpu.gate.removeStream(handle);
  gpu.api.streamDestroy(handle);
}

bool CudaStream::isPinned(const void *memory, uint64_t sizeBytes) const {
  for (uint64_t offset : {uint64_t(0), sizeBytes - 1}) {
    int type = 0;
    auto address = reinterpret_cast<cuda::Address>(memory) + offset;
    if (gpu.api.pointerGetAttribute(&type, cuda::pointerMemoryType, address) || type != cuda::memoryTypeHost)
      return false;
  }
  return true;
}

void *CudaStream::stagingMemory() {
  std::unique_ptr<CudaStaging> &own = capture ? capture->staging : staging;
  if (!own)
    own = std::make_unique<CudaStaging>(gpu);
  return own->memory();
}

void CudaStream::addCall(std::function<void()> function, bool isCopy) {
  CudaWork &into = work();
  if (!capture)
    into.forgetDone();
  into.calls.push_back(std::unique_ptr<CudaHostCall>(new CudaHostCall{std::move(function), into.errors, isCopy}));
  try {
    enqueue(gpu.api.launchHostFunction, handle, &CudaHostCall::run, static_cast<void *>(into.calls.back().get()));
  } catch (...) {
    into.calls.pop_back();
    throw;
  }
}

void CudaStream::copyToDevice(uint64_t destination, const void *source, uint64_t sizeBytes) {
  requireAllocation(*gpu.memory.snapshot(), "copy to the device", destination, sizeBytes);
  if (sizeBytes == 0)
    return;
  CudaScope scope(gpu);
  std::lock_guard lock(mutex);
  if (isPinned(source, sizeBytes))
    return enqueue(gpu.api.copyToDevice, destination, source, size_t(sizeBytes), handle);
  void *between = stagingMemory();
  for (uint64_t done = 0; done < sizeBytes; done += CudaStaging::sizeBytes) {
    uint64_t piece = std::min(sizeBytes - done, CudaStaging::sizeBytes);
    const void *from = static_cast<const char *>(source) + done;
    addCall([=] { std::memcpy(between, from, piece); }, true);
    enqueue(gpu.api.copyToDevice, destination + done, static_cast<const void *>(between), size_t(piece), handle);
  }
}

void CudaStream::copyToHost(void *destination, uint64_t source, uint64_t sizeBytes) {
  requireAllocation(*gpu.memory.snapshot(), "copy to the host", source, sizeBytes);
  if (sizeBytes == 0)
    return;
  CudaScope scope(gpu);
  std::lock_guard lock(mutex);
  if (isPinned(destination, sizeBytes))
    return enqueue(gpu.api.copyToHost, destination, source, size_t(sizeBytes), handle);
  void *between = stagingMemory();
  for (uint64_t done = 0; done < sizeBytes; done += CudaStaging::sizeBytes) {
    uint64_t piece = std::min(sizeBytes - done, CudaStaging::sizeBytes);
    void *to = static_cast<char *>(destination) + done;
    enqueue(gpu.api.copyToHost, between, source + done, size_t(piece), handle);
    addCall([=] { std::memcpy(to, between, piece); }, true);
  }
}

void CudaStream::copy(uint64_t destination, uint64_t source, uint64_t sizeBytes) {
  auto map = gpu.memory.snapshot();
  requireAllocation(*map, "copy, destination", destination, sizeBytes);
  requireAllocation(*map, "copy, source", source, sizeBytes);
  const CudaContext *to = gpu.memory.contextOf(destination), *from = gpu.memory.contextOf(source);
  if (sizeBytes == 0 || !to || !from)
    return;
  Driver &driver = device->driver();
  bool reachable = driver.canAccessPeer(to->ordinal, from->ordinal) && driver.canAccessPeer(from->ordinal, to->ordinal);
  CudaScope scope(gpu);
  std::lock_guard lock(mutex);
  if (reachable)
    return enqueue(gpu.api.copyOnDevice, destination, source, size_t(sizeBytes), handle);
  enqueue(gpu.api.copyPeer, destination, to->handle, source, from->handle, size_t(sizeBytes), handle);
}

void CudaStream::fill(uint64_t destination, uint8_t value, uint64_t sizeBytes) {
  requireAllocation(*gpu.memory.snapshot(), "fill", destination, sizeBytes);
  if (sizeBytes == 0)
    return;
  CudaScope scope(gpu);
  std::lock_guard lock(mutex);
  enqueue(gpu.api.fillBytes, destination, value, size_t(sizeBytes), handle);
}

void CudaStream::launch(const Launch &launch) {
  checkLaunch(launch);
  auto module = requireModule(launch, gpu);
  checkGrid(launch, *module);
  CudaScope scope(gpu);
  std::lock_guard lock(mutex);
  bool reports = !module->package().sites.empty();
  Parameters parameters(launch, reports ? clearRecord() : 0);
  {
    auto admitted = gpu.gate.admit();
    auto run = module->package().clusterSize > 1 ? launchClusters : launchBlocks;
    if (auto [symbol, result] = run(gpu.api, *module, launch, handle, parameters.pointers.data()); result)
      throw gpu.api.error(fmt::format("{}: kernel `{}`", gpu.name, module->package().kernel), symbol, result);
  }
  work().objects.insert(module);
  if (reports)
    readRecord(module, launch.grid);
}

uint64_t CudaStream::clearRecord() {
  Buffer &own = capture ? capture->launchRecord : launchRecord;
  if (!own.address())
    own = device->allocate(uint64_t(launchRecordBytes), "launch record");
  enqueue(gpu.api.fillBytes, own.address(), uint8_t(0), size_t(launchRecordBytes), handle);
  return own.address();
}

/// Work of the stream comes in order, so its next launch may use the same record.
void CudaStream::readRecord(std::shared_ptr<CudaModule> module, std::array<int64_t, 3> grid) {
  static_assert(launchRecordBytes <= int64_t(CudaStaging::sizeBytes));
  void *between = stagingMemory();
  uint64_t from = (capture ? capture->launchRecord : launchRecord).address();
  enqueue(gpu.api.copyToHost, between, from, size_t(launchRecordBytes), handle);
  addCall([module = std::move(module), grid, between] { reportLaunch(module->package(), grid, between); }, false);
}

void CudaStream::launch(Graph &graph) {
  auto *own = dynamic_cast<CudaGraph *>(&graph);
  if (!own)
    throw inputError("the graph belongs to a stream of another driver");
  CudaScope scope(gpu);
  std::lock_guard lock(mutex);
  if (capture)
    throw inputError(gpu.name + ": a graph cannot be launched into a capture");
  enqueue(gpu.api.graphLaunch, own->state()->handle, handle);
  pending.objects.insert(own->state());
  pending.graphErrors.insert(own->state()->work.errors);
}

void CudaStream::record(const std::shared_ptr<Event> &event) {
  auto own = requireCudaEvent(event);
  if (&own->context() != &gpu)
    throw inputError(fmt::format("an event of {} cannot be recorded in a stream of {}", own->context().name, gpu.name),
                     {"create it with the stream's device"});
  CudaScope scope(gpu);
  std::lock_guard lock(mutex);
  enqueue(gpu.api.eventRecord, own->raw(), handle);
  own->markRecorded(capture);
}

void CudaStream::wait(const std::shared_ptr<Event> &event) {
  auto own = requireCudaEvent(event);
  CudaScope scope(gpu);
  std::lock_guard lock(mutex);
  CudaEvent::Place place = own->recordedIn(capture);
  if (place == CudaEvent::Place::OtherCapture)
    throw inputError(gpu.name + ": the event was recorded in a capture, and only that capture can wait for it");
  if (place == CudaEvent::Place::Stream && capture)
    throw inputError(gpu.name + ": a capture cannot wait for an event that was recorded outside of it",
                     {"wait before the capture begins"});
  if (place == CudaEvent::Place::Nowhere)
    return;
  enqueue(gpu.api.streamWaitEvent, handle, own->raw(), 0u);
}

void CudaStream::hostFunction(std::function<void()> function) {
  CudaScope scope(gpu);
  std::lock_guard lock(mutex);
  addCall(std::move(function), false);
}

void CudaStream::beginCapture() {
  CudaScope scope(gpu);
  std::lock_guard lock(mutex);
  if (capture)
    throw inputError(gpu.name + ": the stream is being captured already");
  auto state = std::make_shared<CudaGraph::State>(device);
  enqueue(gpu.api.streamBeginCapture, handle, cuda::captureRelaxed);
  capture = std::move(state);
}

std::unique_ptr<Graph> CudaStream::endCapture() {
  CudaScope scope(gpu);
  std::lock_guard lock(mutex);
  if (!capture)
    throw inputError(gpu.name + ": the stream is not being captured");
  auto state = std::move(capture);
  cuda::Graph graph = nullptr;
  enqueue(gpu.api.streamEndCapture, handle, &graph);
  cuda::Result result = gpu.api.graphInstantiate(&state->handle, graph, 0ull);
  gpu.api.graphDestroy(graph);
  if (result)
    throw gpu.api.error(gpu.name, gpu.api.graphInstantiate.symbol, result);
  enqueue(gpu.api.graphUpload, state->handle, handle); // or the first launch would take longer
  return std::make_unique<CudaGraph>(std::move(state));
}

void CudaStream::synchronize() {
  if (insideCudaHostFunction())
    throw inputError("a host function waits for its own stream");
  CudaScope scope(gpu);
  CudaWork before;
  {
    std::lock_guard lock(mutex);
    if (capture)
      throw inputError(gpu.name + ": a stream that is being captured cannot be waited for", {"end the capture first"});
    before.errors = pending.errors;
    std::swap(before.calls, pending.calls);
    std::swap(before.objects, pending.objects);
    std::swap(before.graphErrors, pending.graphErrors);
  }
  cuda::Result result = gpu.api.streamSynchronize(handle);
  if (result)
    before.abandonCalls();
  std::exception_ptr first = before.errors->take();
  for (const auto &errors : before.graphErrors)
    if (auto error = errors->take(); error && !first)
      first = std::move(error);
  before = {};
  gpu.gate.collect();
  if (result)
    throw gpu.api.error(gpu.name, gpu.api.streamSynchronize.symbol, result);
  if (first)
    std::rethrow_exception(first);
}

} // namespace heddle
