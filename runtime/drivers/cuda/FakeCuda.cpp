// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A libcuda for machines without a GPU: the entry points of CudaApi.h on host memory. Work runs when it is enqueued, or
// when somebody waits; it can be told to fail (FakeCuda.h, or FAKE_CUDA_FAIL=symbol:result in the environment, with
// FAKE_CUDA_DEVICES, FAKE_CUDA_CAPABILITY=80 and FAKE_CUDA_PEERS=0). Here devices, contexts and memory; streams, graphs
// and events in FakeStreams.cpp, code and launches in FakeModules.cpp.
#include "runtime/drivers/cuda/FakeCudaState.h"
#include <cstdlib>
#include <cstring>

namespace heddle::fake {

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

extern "C" {

__attribute__((visibility("default"))) FakeCuda *fakeCuda() {
  return &state().control;
}

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

} // extern "C"

} // namespace heddle::fake
