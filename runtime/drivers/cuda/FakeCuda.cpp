// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A libcuda for machines without a GPU: the entry points of CudaApi.h on host memory. Work runs when it is enqueued, or
// when somebody waits; it can be told to fail (FakeCuda.h, or FAKE_CUDA_FAIL=symbol:result in the environment, with
// FAKE_CUDA_DEVICES, FAKE_CUDA_CAPABILITY=80 and FAKE_CUDA_PEERS=0).
#include "runtime/drivers/cuda/FakeCuda.h"
#include "binary/LaunchRecord.h"
#include "runtime/drivers/cuda/CudaApi.h"
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>

using namespace heddle;

namespace heddle::cuda {

struct ContextHandle {
  int device;
};
struct GraphHandle {
  std::vector<std::function<void()>> work;
};
struct GraphExecHandle {
  std::vector<std::function<void()>> work;
};
struct StreamHandle {
  GraphHandle *capture = nullptr;
  int device = 0;
};
struct EventHandle {
  int64_t recorded = 0, reached = 0;
};
struct FunctionHandle {
  std::string entry;
  std::vector<size_t> sizes;
  int staticBytes = 0, localBytes = 0, dynamicLimit = 48 * 1024;
  bool anyCluster = false;
};
struct ModuleHandle {
  std::string text;
  std::vector<std::unique_ptr<FunctionHandle>> functions;
};
struct LinkHandle {
  std::string text, cubin;
  char *log = nullptr;
  size_t logSize = 0;
};

} // namespace heddle::cuda

namespace {

using namespace heddle::cuda;

constexpr const char *cubinMagic = "FAKECUBIN";

struct State {
  std::recursive_mutex mutex;
  FakeCuda control;
  ContextHandle contexts[16];
  std::deque<std::pair<StreamHandle *, std::function<void()>>> queue;
  std::map<Address, std::pair<size_t, int>> memory;
  std::map<void *, size_t> pinned;
  std::set<std::pair<int, int>> enabledPeers;
  std::map<int, size_t> stackLimits; ///< by device; 1024 for one that is not there
  int64_t clock = 0;
};

/// Never destroyed: work may come after main.
State &state() {
  static auto *all = [] {
    auto *fresh = new State;
    for (int i = 0; i < 16; ++i)
      fresh->contexts[i].device = i;
    if (const char *devices = std::getenv("FAKE_CUDA_DEVICES"))
      fresh->control.devices = std::atoi(devices);
    if (const char *capability = std::getenv("FAKE_CUDA_CAPABILITY")) {
      fresh->control.major = std::atoi(capability) / 10;
      fresh->control.minor = std::atoi(capability) % 10;
    }
    if (const char *peers = std::getenv("FAKE_CUDA_PEERS"))
      fresh->control.peers = std::atoi(peers) != 0;
    if (const char *failure = std::getenv("FAKE_CUDA_FAIL"))
      if (const char *colon = std::strchr(failure, ':'))
        fresh->control.failures[std::string(failure, colon)] = {1, std::atoi(colon + 1)};
    return fresh;
  }();
  return *all;
}

thread_local ContextHandle *current = nullptr;

/// Counts a call; what it is to give instead of working, or success.
Result enter(const char *symbol) {
  FakeCuda &control = state().control;
  control.calls.emplace_back(symbol);
  // What destroys goes on, unlike with the real one, or the tests would leak.
  bool always = false;
  for (const char *part : {"Current", "Destroy", "Unload", "Free"})
    always |= std::strstr(symbol, part) != nullptr;
  if (control.lost && !always)
    return control.lost;
  auto failure = control.failures.find(symbol);
  if (failure != control.failures.end() && --failure->second.call == 0)
    return failure->second.result;
  return result::success;
}

void drain() {
  auto &queue = state().queue;
  while (!queue.empty()) {
    auto work = std::move(queue.front().second);
    queue.pop_front();
    work();
  }
}

/// What CUDA does only when the current device has nothing to do.
void waitForTheDevice(const char *symbol) {
  for (const auto &[stream, work] : state().queue)
    if (stream->device == current->device) {
      state().control.waits.emplace_back(symbol);
      return drain();
    }
}

size_t &stackLimit(int device) {
  return state().stackLimits.try_emplace(device, 1024).first->second;
}

Result enqueue(Stream stream, std::function<void()> work) {
  if (stream->capture)
    stream->capture->work.push_back(std::move(work));
  else
    state().queue.emplace_back(stream, std::move(work));
  if (!state().control.hold)
    drain();
  return result::success;
}

int deviceOf(Address address) {
  auto after = state().memory.upper_bound(address);
  return after == state().memory.begin() ? -1 : std::prev(after)->second.second;
}

template <typename T>
T *pointerTo(Address address) {
  return reinterpret_cast<T *>(address);
}

/// The record that two programs leave who print a number each, the later one first, and fail if it is above 9.
void runSay(uint64_t number, uint64_t recordAddress) {
  auto *record = pointerTo<LaunchRecord>(recordAddress);
  auto *place = reinterpret_cast<char *>(record + 1) + record->bytes;
  for (int32_t program : {1, 0}) {
    PrintPiece piece{uint32_t(printPieceBytes(1, 4)), 0, 0, {program, 0, 0}};
    auto value = int32_t(number);
    std::memcpy(place, &piece, sizeof piece);
    std::memcpy(place + sizeof piece, &value, sizeof value);
    place += piece.sizeBytes;
    record->bytes += piece.sizeBytes;
    ++record->lines;
  }
  if (number > 9)
    record->failure = ~((uint64_t(1) << (failureElementBits + failureSiteBits)) | (1u << failureElementBits) | 7u);
}

void runKernel(const FakeLaunch &launch) {
  state().control.launches.push_back(launch);
  auto value = [&](size_t i) {
    uint64_t bits = 0;
    std::memcpy(&bits, launch.parameters[i].data(), launch.parameters[i].size());
    return bits;
  };
  if (launch.entry == "illegal")
    state().control.lost = result::illegalAddress;
  if (launch.entry == "say")
    runSay(value(0), value(1));
  if (launch.entry == "fill_words")
    for (uint64_t i = 0; i < value(2); ++i)
      pointerTo<uint32_t>(value(0))[i] = uint32_t(value(1));
}

Result launchAny(Function function, FakeLaunch launch, Stream stream, void **parameters) {
  FakeCuda &control = state().control;
  uint64_t blocks = uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  if (launch.sharedBytes > unsigned(function->dynamicLimit) || (launch.cluster > 8 && !function->anyCluster))
    return result::invalidValue;
  if (launch.cooperative && blocks > uint64_t(control.blocksPerMultiprocessor) * uint64_t(control.multiprocessors))
    return result::cooperativeTooLarge;
  if (size_t(function->localBytes) > stackLimit(stream->device)) {
    waitForTheDevice("cuLaunchKernel");
    stackLimit(stream->device) = size_t(function->localBytes);
  }
  launch.entry = function->entry;
  for (size_t i = 0; i < function->sizes.size(); ++i)
    launch.parameters.emplace_back(static_cast<const char *>(parameters[i]), function->sizes[i]);
  return enqueue(stream, [launch] { runKernel(launch); });
}

/// The entry's parameters and static shared memory, or null.
std::unique_ptr<FunctionHandle> findFunction(const std::string &text, const std::string &name) {
  size_t at = text.find(".entry " + name + "(");
  if (at == std::string::npos)
    return nullptr;
  auto function = std::make_unique<FunctionHandle>();
  function->entry = name;
  std::string parameters = text.substr(at, text.find(')', at) - at);
  for (size_t i = 0; (i = parameters.find(".param .", i)) != std::string::npos; ++i)
    function->sizes.push_back(size_t(std::atoi(parameters.c_str() + i + 9) / 8)); // behind the letter of `.u64`
  if (size_t local = text.find(".local"); local != std::string::npos)
    if (size_t bracket = text.find('[', local); bracket != std::string::npos)
      function->localBytes = std::atoi(text.c_str() + bracket + 1);
  if (size_t shared = text.find(".shared"); shared != std::string::npos)
    if (size_t bracket = text.find('[', shared); bracket != std::string::npos)
      function->staticBytes = std::atoi(text.c_str() + bracket + 1);
  return function;
}

} // namespace

#pragma GCC visibility push(default)
extern "C" {

FakeCuda *fakeCuda() {
  return &state().control;
}

#define ENTER(symbol)                                                                                                  \
  std::lock_guard lock(state().mutex);                                                                                 \
  if (Result failure = enter(#symbol))                                                                                 \
  return failure

Result cuGetErrorName(Result result, const char **name) {
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
  auto found = names.find(result);
  *name = found == names.end() ? nullptr : found->second;
  return found == names.end() ? result::invalidValue : result::success;
}

Result cuGetErrorString(Result result, const char **text) {
  const char *name = nullptr;
  if (cuGetErrorName(result, &name))
    return result::invalidValue;
  *text = "what the fake says of it";
  return result::success;
}

Result cuInit(unsigned) {
  ENTER(cuInit);
  return result::success;
}

Result cuDriverGetVersion(int *version) {
  ENTER(cuDriverGetVersion);
  *version = state().control.version;
  return result::success;
}

Result cuDeviceGetCount(int *count) {
  ENTER(cuDeviceGetCount);
  *count = state().control.devices;
  return result::success;
}

Result cuDeviceGet(DeviceNumber *device, int ordinal) {
  ENTER(cuDeviceGet);
  *device = ordinal;
  return result::success;
}

Result cuDeviceGetName(char *name, int size, DeviceNumber) {
  ENTER(cuDeviceGetName);
  std::strncpy(name, "Fake GPU", size_t(size));
  return result::success;
}

Result cuDeviceGetAttribute(int *value, int which, DeviceNumber) {
  ENTER(cuDeviceGetAttribute);
  const FakeCuda &control = state().control;
  *value = which == attribute::capabilityMajor       ? control.major
           : which == attribute::capabilityMinor     ? control.minor
           : which == attribute::multiprocessorCount ? control.multiprocessors
           : which == attribute::maxSharedPerBlock   ? control.sharedPerBlock
                                                     : 0;
  return result::success;
}

Result cuDeviceTotalMem_v2(size_t *bytes, DeviceNumber) {
  ENTER(cuDeviceTotalMem_v2);
  *bytes = state().control.memoryBytes;
  return result::success;
}

Result cuDeviceCanAccessPeer(int *able, DeviceNumber, DeviceNumber) {
  ENTER(cuDeviceCanAccessPeer);
  *able = state().control.peers;
  return result::success;
}

Result cuDevicePrimaryCtxRetain(Context *context, DeviceNumber device) {
  ENTER(cuDevicePrimaryCtxRetain);
  *context = &state().contexts[device];
  return result::success;
}

Result cuDevicePrimaryCtxRelease_v2(DeviceNumber device) {
  ENTER(cuDevicePrimaryCtxRelease_v2);
  std::erase_if(state().enabledPeers, [&](const auto &pair) { return pair.first == device || pair.second == device; });
  state().stackLimits.erase(device);
  return result::success;
}

Result cuCtxSetCurrent(Context context) {
  ENTER(cuCtxSetCurrent);
  current = context;
  return result::success;
}

Result cuCtxGetCurrent(Context *context) {
  ENTER(cuCtxGetCurrent);
  *context = current;
  return result::success;
}

Result cuCtxSynchronize() {
  ENTER(cuCtxSynchronize);
  drain();
  return state().control.lost;
}

Result cuCtxEnablePeerAccess(Context peer, unsigned) {
  ENTER(cuCtxEnablePeerAccess);
  return state().enabledPeers.insert({current->device, peer->device}).second ? result::success
                                                                             : result::peerAlreadyEnabled;
}

Result cuCtxGetLimit(size_t *value, int limit) {
  ENTER(cuCtxGetLimit);
  *value = limit == limitStackBytes ? stackLimit(current->device) : 0;
  return result::success;
}

Result cuCtxSetLimit(int limit, size_t value) {
  ENTER(cuCtxSetLimit);
  if (limit != limitStackBytes)
    return result::invalidValue;
  waitForTheDevice("cuCtxSetLimit");
  stackLimit(current->device) = value;
  return result::success;
}

Result cuMemGetInfo_v2(size_t *freeBytes, size_t *totalBytes) {
  ENTER(cuMemGetInfo_v2);
  *freeBytes = *totalBytes = state().control.memoryBytes;
  for (const auto &[address, entry] : state().memory)
    if (entry.second == current->device)
      *freeBytes -= entry.first;
  return result::success;
}

Result cuMemAlloc_v2(Address *address, size_t bytes) {
  ENTER(cuMemAlloc_v2);
  size_t freeBytes = 0, totalBytes = 0;
  cuMemGetInfo_v2(&freeBytes, &totalBytes);
  if (bytes > freeBytes)
    return result::outOfMemory;
  *address = Address(std::aligned_alloc(256, (bytes + 511) / 256 * 256));
  state().memory[*address] = {bytes, current->device};
  ++state().control.liveAllocations;
  return result::success;
}

Result cuMemFree_v2(Address address) {
  ENTER(cuMemFree_v2);
  waitForTheDevice("cuMemFree_v2");
  if (!state().memory.erase(address))
    return result::invalidValue;
  std::free(pointerTo<void>(address));
  --state().control.liveAllocations;
  return result::success;
}

Result cuMemHostAlloc(void **memory, size_t bytes, unsigned) {
  ENTER(cuMemHostAlloc);
  *memory = std::malloc(bytes);
  state().pinned[*memory] = bytes;
  ++state().control.livePinned;
  return result::success;
}

Result cuMemFreeHost(void *memory) {
  ENTER(cuMemFreeHost);
  waitForTheDevice("cuMemFreeHost");
  if (!state().pinned.erase(memory))
    return result::invalidValue;
  std::free(memory);
  --state().control.livePinned;
  return result::success;
}

Result cuPointerGetAttribute(void *value, int which, Address address) {
  ENTER(cuPointerGetAttribute);
  for (const auto &[start, bytes] : state().pinned)
    if (which == pointerMemoryType && address >= Address(start) && address < Address(start) + bytes) {
      *static_cast<int *>(value) = memoryTypeHost;
      return result::success;
    }
  return result::invalidValue;
}

Result cuMemcpyHtoDAsync_v2(Address destination, const void *source, size_t bytes, Stream stream) {
  ENTER(cuMemcpyHtoDAsync_v2);
  return enqueue(stream, [=] { std::memcpy(pointerTo<void>(destination), source, bytes); });
}

Result cuMemcpyDtoHAsync_v2(void *destination, Address source, size_t bytes, Stream stream) {
  ENTER(cuMemcpyDtoHAsync_v2);
  return enqueue(stream, [=] { std::memcpy(destination, pointerTo<void>(source), bytes); });
}

Result cuMemcpyDtoDAsync_v2(Address destination, Address source, size_t bytes, Stream stream) {
  ENTER(cuMemcpyDtoDAsync_v2);
  if (deviceOf(destination) != deviceOf(source) &&
      !state().enabledPeers.count({deviceOf(destination), deviceOf(source)}))
    return result::invalidValue;
  return enqueue(stream, [=] { std::memmove(pointerTo<void>(destination), pointerTo<void>(source), bytes); });
}

Result cuMemcpyPeerAsync(Address destination, Context to, Address source, Context from, size_t bytes, Stream stream) {
  ENTER(cuMemcpyPeerAsync);
  if (deviceOf(destination) != to->device || deviceOf(source) != from->device)
    return result::invalidValue;
  return enqueue(stream, [=] { std::memmove(pointerTo<void>(destination), pointerTo<void>(source), bytes); });
}

Result cuMemsetD8Async(Address destination, unsigned char value, size_t bytes, Stream stream) {
  ENTER(cuMemsetD8Async);
  return enqueue(stream, [=] { std::memset(pointerTo<void>(destination), value, bytes); });
}

Result cuStreamCreateWithPriority(Stream *stream, unsigned, int) {
  ENTER(cuStreamCreateWithPriority);
  *stream = new StreamHandle{nullptr, current->device};
  ++state().control.liveStreams;
  return result::success;
}

Result cuStreamDestroy_v2(Stream stream) {
  ENTER(cuStreamDestroy_v2);
  drain();
  delete stream;
  --state().control.liveStreams;
  return result::success;
}

Result cuStreamSynchronize(Stream stream) {
  ENTER(cuStreamSynchronize);
  if (stream->capture)
    return result::captureUnsupported;
  drain();
  return state().control.lost;
}

static Result queryStream(Stream stream) {
  ENTER(cuStreamQuery);
  if (stream->capture)
    return result::captureUnsupported;
  for (const auto &[owner, work] : state().queue)
    if (owner == stream)
      return result::notReady;
  return result::success;
}

Result cuStreamQuery(Stream stream) {
  Result result = queryStream(stream);
  if (auto call = std::exchange(state().control.afterQuery, nullptr))
    call(); // outside of the lock: other threads may go on
  return result;
}

Result cuStreamWaitEvent(Stream, Event, unsigned) {
  ENTER(cuStreamWaitEvent);
  return result::success; // all work is in one queue
}

Result cuStreamIsCapturing(Stream stream, int *status) {
  ENTER(cuStreamIsCapturing);
  *status = stream->capture ? 1 : 0;
  return result::success;
}

Result cuStreamBeginCapture_v2(Stream stream, int) {
  ENTER(cuStreamBeginCapture_v2);
  stream->capture = new GraphHandle;
  ++state().control.liveGraphs;
  return result::success;
}

Result cuGraphDestroy(Graph graph) {
  ENTER(cuGraphDestroy);
  delete graph;
  --state().control.liveGraphs;
  return result::success;
}

Result cuStreamEndCapture(Stream stream, Graph *graph) {
  std::lock_guard lock(state().mutex);
  *graph = std::exchange(stream->capture, nullptr);
  if (Result failure = enter("cuStreamEndCapture")) {
    delete std::exchange(*graph, nullptr);
    --state().control.liveGraphs;
    return failure;
  }
  return result::success;
}

Result cuGraphInstantiateWithFlags(GraphExec *exec, Graph graph, unsigned long long) {
  ENTER(cuGraphInstantiateWithFlags);
  *exec = new GraphExecHandle{graph->work};
  ++state().control.liveGraphs;
  return result::success;
}

Result cuGraphUpload(GraphExec, Stream) {
  ENTER(cuGraphUpload);
  return result::success;
}

Result cuGraphLaunch(GraphExec exec, Stream stream) {
  ENTER(cuGraphLaunch);
  return enqueue(stream, [exec] {
    for (const auto &work : exec->work)
      work();
  });
}

Result cuGraphExecDestroy(GraphExec exec) {
  ENTER(cuGraphExecDestroy);
  delete exec;
  --state().control.liveGraphs;
  return result::success;
}

Result cuEventCreate(Event *event, unsigned) {
  ENTER(cuEventCreate);
  *event = new EventHandle;
  ++state().control.liveEvents;
  return result::success;
}

Result cuEventDestroy_v2(Event event) {
  ENTER(cuEventDestroy_v2);
  drain();
  delete event;
  --state().control.liveEvents;
  return result::success;
}

Result cuEventRecord(Event event, Stream stream) {
  ENTER(cuEventRecord);
  int64_t number = ++state().clock;
  event->recorded = number;
  return enqueue(stream, [event, number] { event->reached = number; });
}

Result cuEventQuery(Event event) {
  ENTER(cuEventQuery);
  return event->reached == event->recorded ? result::success : result::notReady;
}

Result cuEventSynchronize(Event) {
  ENTER(cuEventSynchronize);
  drain();
  return state().control.lost;
}

Result cuEventElapsedTime(float *milliseconds, Event start, Event end) {
  ENTER(cuEventElapsedTime);
  *milliseconds = float(end->reached - start->reached);
  return result::success;
}

Result cuLaunchHostFunc(Stream stream, HostFunction function, void *data) {
  ENTER(cuLaunchHostFunc);
  return enqueue(stream, [=] { function(data); });
}

Result cuLinkCreate_v2(unsigned count, int *options, void **values, Link *link) {
  ENTER(cuLinkCreate_v2);
  *link = new LinkHandle;
  for (unsigned i = 0; i < count; ++i)
    if (options[i] == jit::errorLog)
      (*link)->log = static_cast<char *>(values[i]);
    else if (options[i] == jit::target)
      state().control.jitTarget = int(reinterpret_cast<uintptr_t>(values[i]));
    else if (options[i] == jit::errorLogSize)
      (*link)->logSize = size_t(reinterpret_cast<uintptr_t>(values[i]));
  return result::success;
}

Result cuLinkAddData_v2(Link link, int type, void *data, size_t bytes, const char *, unsigned, int *, void **) {
  ENTER(cuLinkAddData_v2);
  link->text.assign(static_cast<const char *>(data), bytes - 1);
  if (type != jit::inputPtx || link->text.find("nonsense") != std::string::npos) {
    std::strncpy(link->log, "ptxas application ptx input, line 7; error : Unknown symbol 'nonsense'\nptxas fatal",
                 link->logSize);
    return result::invalidPtx;
  }
  return link->text.find(".version 99") == std::string::npos ? result::success : result::unsupportedPtxVersion;
}

Result cuLinkComplete(Link link, void **cubin, size_t *bytes) {
  ENTER(cuLinkComplete);
  link->cubin = cubinMagic + link->text;
  *cubin = link->cubin.data();
  *bytes = link->cubin.size();
  return result::success;
}

Result cuLinkDestroy(Link link) {
  ENTER(cuLinkDestroy);
  delete link;
  return result::success;
}

Result cuModuleLoadDataEx(heddle::cuda::Module *module, const void *image, unsigned, int *, void **) {
  ENTER(cuModuleLoadDataEx);
  const char *text = static_cast<const char *>(image);
  if (std::strncmp(text, cubinMagic, std::strlen(cubinMagic)) != 0 && !state().control.loadsPtx)
    return result::invalidImage;
  waitForTheDevice("cuModuleLoadDataEx");
  *module = new ModuleHandle{text, {}};
  ++state().control.liveModules;
  return result::success;
}

Result cuModuleUnload(heddle::cuda::Module module) {
  ENTER(cuModuleUnload);
  waitForTheDevice("cuModuleUnload");
  delete module;
  --state().control.liveModules;
  return result::success;
}

Result cuModuleGetFunction(Function *function, heddle::cuda::Module module, const char *name) {
  ENTER(cuModuleGetFunction);
  auto found = findFunction(module->text, name);
  if (!found)
    return result::notFound;
  *function = found.get();
  module->functions.push_back(std::move(found));
  return result::success;
}

Result cuFuncSetAttribute(Function function, int which, int value) {
  ENTER(cuFuncSetAttribute);
  if (which == function::maxDynamicShared)
    function->dynamicLimit = value;
  if (which == function::nonPortableCluster)
    function->anyCluster = value != 0;
  return result::success;
}

Result cuFuncGetAttribute(int *value, int which, Function function) {
  ENTER(cuFuncGetAttribute);
  *value = which == function::maxThreadsPerBlock ? state().control.maxThreads
           : which == function::sharedBytes      ? function->staticBytes
           : which == function::localBytes       ? function->localBytes
                                                 : 40;
  return result::success;
}

Result cuFuncLoad(Function) {
  ENTER(cuFuncLoad);
  return result::success;
}

Result cuFuncGetParamInfo(Function function, size_t index, size_t *offset, size_t *bytes) {
  ENTER(cuFuncGetParamInfo);
  if (index >= function->sizes.size())
    return result::invalidValue;
  *offset = 8 * index;
  *bytes = function->sizes[index];
  return result::success;
}

Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Function, int, size_t) {
  ENTER(cuOccupancyMaxActiveBlocksPerMultiprocessor);
  *blocks = state().control.blocksPerMultiprocessor;
  return result::success;
}

Result cuOccupancyMaxActiveClusters(int *clusters, Function, const LaunchConfig *config) {
  ENTER(cuOccupancyMaxActiveClusters);
  *clusters = state().control.blocksPerMultiprocessor * state().control.multiprocessors /
              int(config->attributes[0].value.clusterDimension[0]);
  return result::success;
}

Result cuLaunchKernel(Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned x, unsigned y,
                      unsigned z, unsigned shared, Stream stream, void **parameters, void **) {
  ENTER(cuLaunchKernel);
  return launchAny(function, {"", {gridX, gridY, gridZ}, {x, y, z}, shared, false, 1, {}}, stream, parameters);
}

Result cuLaunchCooperativeKernel(Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned x,
                                 unsigned y, unsigned z, unsigned shared, Stream stream, void **parameters) {
  ENTER(cuLaunchCooperativeKernel);
  return launchAny(function, {"", {gridX, gridY, gridZ}, {x, y, z}, shared, true, 1, {}}, stream, parameters);
}

Result cuLaunchKernelEx(const LaunchConfig *config, Function function, void **parameters, void **) {
  ENTER(cuLaunchKernelEx);
  FakeLaunch launch{"",
                    {config->grid[0], config->grid[1], config->grid[2]},
                    {config->block[0], config->block[1], config->block[2]},
                    config->sharedBytes,
                    false,
                    1,
                    {}};
  for (unsigned i = 0; i < config->attributeCount; ++i)
    if (config->attributes[i].id == launchCluster)
      launch.cluster = config->attributes[i].value.clusterDimension[0];
    else if (config->attributes[i].id == launchCooperative)
      launch.cooperative = config->attributes[i].value.cooperative != 0;
  return launchAny(function, launch, config->stream, parameters);
}

} // extern "C"
#pragma GCC visibility pop

// The signatures above are those of the table.
#define HEDDLE_CUDA_CHECK(name, symbol, ...)                                                                           \
  static_assert(std::is_same_v<decltype(&::symbol), heddle::cuda::Result (*)(__VA_ARGS__)>);
HEDDLE_CUDA_REQUIRED(HEDDLE_CUDA_CHECK)
