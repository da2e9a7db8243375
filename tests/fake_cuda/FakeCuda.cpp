// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A libcuda for machines without a GPU: the entry points of CudaApi.h on host memory. Work runs when it is enqueued, or
// when a host thread waits; it can be told to fail (FakeCuda.h, or FAKE_CUDA_FAIL=symbol:result in the environment,
// with FAKE_CUDA_DEVICES, FAKE_CUDA_CAPABILITY=80, FAKE_CUDA_PEERS=0 and FAKE_CUDA_PTX=1, to load text). Here devices,
// contexts, memory, streams and events, as far as they are not those of FakeGpuEntries.h; code and launches in
// FakeModules.cpp, memory of several processes in FakeSharing.cpp.
#include "tests/fake_cuda/FakeCudaState.h"
#include "tests/fake_gpu/FakeGpuEntries.h"

namespace heddle::fake {

State &state() {
  static auto *all = [] {
    auto *fresh = new State;
    for (int i = 0; i < 16; ++i)
      fresh->contexts[i].device = i;
    readEnvironment(fresh->control, "FAKE_CUDA_");
    if (const char *capability = std::getenv("FAKE_CUDA_CAPABILITY")) {
      fresh->control.major = std::atoi(capability) / 10;
      fresh->control.minor = std::atoi(capability) % 10;
    }
    fresh->control.loadsPtx = std::getenv("FAKE_CUDA_PTX") != nullptr;
    return fresh;
  }();
  return *all;
}

const char *const productName = "Fake GPU";

const std::map<Result, const char *> &errorNames() {
  static const std::map<Result, const char *> names = {{1, "CUDA_ERROR_INVALID_VALUE"},
                                                       {2, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                       {100, "CUDA_ERROR_NO_DEVICE"},
                                                       {200, "CUDA_ERROR_INVALID_IMAGE"},
                                                       {218, "CUDA_ERROR_INVALID_PTX"},
                                                       {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
                                                       {500, "CUDA_ERROR_NOT_FOUND"},
                                                       {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                                       {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED"},
                                                       {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"},
                                                       {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
                                                       {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"}};
  return names;
}

static thread_local Context current = nullptr;

int currentDevice() {
  return current->device;
}

MemoryInfo memoryInfo() {
  MemoryInfo info = {state().control.memoryBytes, state().control.memoryBytes};
  for (const auto &[address, entry] : state().memory)
    if (entry.second == current->device)
      info.freeBytes -= entry.first.bytes;
  return info;
}

Result drain() {
  auto &queue = state().queue;
  while (!queue.empty()) {
    auto work = std::move(queue.front().second);
    queue.pop_front();
    work();
  }
  return state().control.lost;
}

void waitForTheDevice(const char *symbol) {
  for (const auto &[stream, work] : state().queue)
    if (stream->device == current->device) {
      state().control.waits.emplace_back(symbol);
      drain();
      return;
    }
}

StreamHandle &streamOf(Stream stream) {
  static std::map<int, StreamHandle *> defaults; // for good
  if (stream)
    return *stream;
  StreamHandle *&own = defaults[currentDevice()];
  if (!own)
    own = new StreamHandle;
  return *own;
}

size_t &stackLimit(int device) {
  return state().stackLimits.try_emplace(device, 1024).first->second;
}

extern "C" {

__attribute__((visibility("default"))) FakeCuda *fakeCuda() {
  return &state().control;
}

/// The calls since the last time, for programs that do not know FakeCuda.
__attribute__((visibility("default"))) const char *fakeCudaCalls() {
  static size_t seen = 0;
  static std::string text;
  std::lock_guard lock(state().mutex);
  const auto &calls = state().control.calls;
  text.clear();
  for (; seen < calls.size(); ++seen)
    text += " " + calls[seen];
  return text.c_str();
}

Result deviceGetAttribute(int *value, int which, DeviceNumber) {
  ENTER(deviceGetAttribute);
  const FakeCuda &control = state().control;
  *value = which == cuda::attribute::capabilityMajor       ? control.major
           : which == cuda::attribute::capabilityMinor     ? control.minor
           : which == cuda::attribute::multiprocessorCount ? control.multiprocessors
           : which == cuda::attribute::maxSharedPerBlock   ? control.sharedPerBlock
           : which == cuda::attribute::virtualMemory       ? 1
           : which == cuda::attribute::memoryDescriptors   ? control.hasDescriptors
                                                           : 0;
  return result::success;
}

Result deviceTotalMemory(size_t *bytes, DeviceNumber) {
  ENTER(deviceTotalMemory);
  *bytes = state().control.memoryBytes;
  return result::success;
}

Result primaryContextRetain(Context *context, DeviceNumber device) {
  ENTER(primaryContextRetain);
  *context = &state().contexts[device];
  return result::success;
}

Result primaryContextRelease(DeviceNumber device) {
  ENTER(primaryContextRelease);
  std::erase_if(state().enabledPeers, [&](const auto &pair) { return pair.first == device || pair.second == device; });
  state().stackLimits.erase(device);
  return result::success;
}

Result contextSetCurrent(Context context) {
  ENTER(contextSetCurrent);
  current = context;
  return result::success;
}

Result contextGetCurrent(Context *context) {
  ENTER(contextGetCurrent);
  *context = current;
  return result::success;
}

Result contextSynchronize() {
  ENTER(contextSynchronize);
  return drain();
}

Result contextEnablePeerAccess(Context peer, unsigned) {
  ENTER(contextEnablePeerAccess);
  return enablePeer(peer->device);
}

Result contextGetLimit(size_t *value, int limit) {
  ENTER(contextGetLimit);
  *value = limit == cuda::limitStackBytes ? stackLimit(current->device) : 0;
  return result::success;
}

Result contextSetLimit(int limit, size_t value) {
  ENTER(contextSetLimit);
  if (limit != cuda::limitStackBytes)
    return result::invalidValue;
  waitForTheDevice(symbol::contextSetLimit);
  stackLimit(current->device) = value;
  return result::success;
}

Result memoryAllocate(Address *address, size_t bytes) {
  ENTER(memoryAllocate);
  if (bytes > memoryInfo().freeBytes)
    return result::outOfMemory;
  if (bytes % (size_t(2) << 20) == 0)
    return allocateInFile(address, bytes);
  Allocation made{bytes, {std::aligned_alloc(256, (bytes + 511) / 256 * 256), std::free}};
  *address = Address(made.memory.get());
  state().memory.emplace(*address, std::pair(std::move(made), current->device));
  return count(&FakeGpu::liveAllocations, 1);
}

Result copyBetween(Address destination, Context to, Address source, Context from, size_t bytes, Stream stream) {
  ENTER(copyBetween);
  return copyPeer(destination, to->device, source, from->device, bytes, stream);
}

static Result queryStream(Stream stream) {
  ENTER(streamQuery);
  if (stream->isCapturing())
    return result::captureUnsupported;
  for (const auto &[owner, work] : state().queue)
    if (owner == stream)
      return result::notReady;
  return result::success;
}

Result streamQuery(Stream stream) {
  Result result = queryStream(stream);
  if (auto call = std::exchange(state().control.afterQuery, nullptr))
    call(); // outside of the lock: other threads may go on
  return result;
}

Result streamGetCaptureInfo(Stream stream, int *status, unsigned long long *id, cuda::Graph *graph, const void ***nodes,
                            const void **, size_t *count) {
  ENTER(streamGetCaptureInfo);
  stream = &streamOf(stream);
  if (graph) {
    stream->graph.graph = stream->capture;
    *graph = &stream->graph;
    *nodes = &stream->frontier;
    *count = stream->frontier ? 1 : 0;
  }
  *status = stream->isCapturing() ? 1 : 0;
  *id = stream->captureId;
  return result::success;
}

Result streamGetId(Stream stream, unsigned long long *id) {
  ENTER(streamGetId);
  *id = stream->id;
  return stream->isCapturing() ? result::captureUnsupported : result::success;
}

Result threadExchangeCaptureMode(int *mode) {
  static thread_local int own = 0;
  ENTER(threadExchangeCaptureMode);
  std::swap(own, *mode);
  return result::success;
}

Result streamWaitEvent(Stream stream, Event, unsigned flags) {
  ENTER(streamWaitEvent);
  if (flags && !stream->isCapturing())
    return result::invalidValue;
  state().control.externalWaits += flags != 0;
  return result::success; // all work is in one queue
}

Result eventRecord(Event event, Stream stream) {
  ENTER(eventRecord);
  int64_t number = ++state().clock;
  event->recorded = number;
  stream->hostFunction([event, number] { event->reached = number; });
  return result::success;
}

/// What it comes after is noted: FakeCuda::recordNodes.
Result graphAddEventRecord(void **node, cuda::Graph graph, void *const *before, size_t count, Event event) {
  ENTER(graphAddEventRecord);
  auto &made = state().control.recordNodes;
  *node = reinterpret_cast<void *>(made.size() + 1);
  made.emplace_back(before, before + count);
  graph->graph->push_back([event] { event->recorded = event->reached = ++state().clock; });
  return result::success;
}

/// Edges into one node, which is a record of an event.
static std::vector<void *> &nodesBefore(void *const *record) {
  return state().control.recordNodes.at(reinterpret_cast<uint64_t>(*record) - 1);
}

Result graphAddDependencies(cuda::Graph, void *const *from, void *const *to, const void *, size_t count) {
  ENTER(graphAddDependencies);
  for (size_t i = 0; i < count; ++i)
    nodesBefore(to + i).push_back(from[i]);
  return result::success;
}

Result graphRemoveDependencies(cuda::Graph, void *const *from, void *const *to, const void *, size_t count) {
  ENTER(graphRemoveDependencies);
  for (size_t i = 0; i < count; ++i)
    if (std::erase(nodesBefore(to + i), from[i]) != 1)
      return result::invalidValue;
  return result::success;
}

Result eventElapsedTime(float *milliseconds, Event start, Event end) {
  ENTER(eventElapsedTime);
  *milliseconds = float(end->reached - start->reached);
  return result::success;
}

} // extern "C"

} // namespace heddle::fake

namespace heddle::gpu {

using fake::state;

StreamHandle::~StreamHandle() {
  fake::drain();
}

static uint64_t lastId = 0;

StreamHandle::StreamHandle() : id(++lastId) {}

static std::vector<void *> &freeHandles() {
  static auto *memory = new std::vector<void *>;
  return *memory;
}

// Under the lock of the entry points that create and destroy.
void *StreamHandle::operator new(size_t bytes) {
  if (freeHandles().empty())
    return ::operator new(bytes);
  void *memory = freeHandles().back();
  freeHandles().pop_back();
  return memory;
}

void StreamHandle::operator delete(void *memory) {
  freeHandles().push_back(memory);
}

Result StreamHandle::beginCapture() {
  capture = std::make_shared<fake::CapturedGraph>();
  static uint64_t captures = 0;
  captureId = ++captures;
  frontier = nullptr;
  return result::success;
}

std::shared_ptr<fake::CapturedGraph> StreamHandle::endCapture() {
  std::lock_guard lock(state().mutex);
  return std::exchange(capture, nullptr);
}

Result StreamHandle::synchronize() {
  return fake::drain();
}

void StreamHandle::hostFunction(std::function<void()> work) {
  if (capture) {
    capture->push_back(std::move(work));
    frontier = capturedNode(int(capture->size()));
  } else

    state().queue.emplace_back(this, std::move(work));
  if (!state().control.hold)
    fake::drain();
}

EventHandle::~EventHandle() {
  fake::drain();
}

Result EventHandle::synchronize() {
  return fake::drain();
}

} // namespace heddle::gpu
