// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A libamdhip64 for machines without a GPU: the entry points of HipApi.h on simulated devices, which execute the code
// objects that they are given. Work runs when somebody waits, or asks again and again. It can be told to fail
// (FakeHip.h, or FAKE_HIP_FAIL=symbol:result in the environment, with FAKE_HIP_DEVICES, FAKE_HIP_ARCHITECTURE=gfx950
// and FAKE_HIP_PEERS=0). Here devices and memory; streams, graphs and events in FakeStreams.cpp, code in
// FakeModules.cpp.
#include "runtime/drivers/simulated/SimulatedDriver.h"
#include "tests/fake_hip/FakeHipState.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>

namespace heddle::fake_hip {

State &state() {
  static auto *all = [] {
    auto *fresh = new State;
    if (const char *devices = std::getenv("FAKE_HIP_DEVICES"))
      fresh->control.devices = std::atoi(devices);
    if (const char *architecture = std::getenv("FAKE_HIP_ARCHITECTURE"))
      fresh->control.architecture = architecture;
    if (const char *peers = std::getenv("FAKE_HIP_PEERS"))
      fresh->control.peers = std::atoi(peers) != 0;
    if (const char *failure = std::getenv("FAKE_HIP_FAIL"))
      if (const char *colon = std::strchr(failure, ':'))
        fresh->control.failures[std::string(failure, colon)] = {1, std::atoi(colon + 1)};
    return fresh;
  }();
  return *all;
}

thread_local int current = 0;

heddle::Device &deviceOf(int number) {
  std::lock_guard lock(state().mutex);
  const std::string &architecture = state().control.architecture;
  std::string chip = architecture.substr(0, architecture.find(':'));
  std::shared_ptr<Driver> &driver = state().drivers[chip];
  if (!driver)
    driver = makeSimulatedDriver(lookupChip(chip));
  auto &device = state().devices[{chip, number}];
  if (!device)
    device = driver->open(number);
  return *device;
}

int ownerOf(Address address) {
  std::lock_guard lock(state().mutex);
  auto after = state().memory.upper_bound(address);
  return after == state().memory.begin() ? -1 : std::prev(after)->second.second;
}

Result enter(const char *symbol) {
  std::lock_guard lock(state().mutex);
  FakeHip &control = state().control;
  control.calls.emplace_back(symbol);
  // What destroys goes on, unlike with the real one, or the tests would leak.
  bool always = false;
  for (const char *part : {"Destroy", "Unload", "Free", "etDevice"})
    always |= std::strstr(symbol, part) != nullptr;
  if (control.lost && !always)
    return control.lost;
  auto failure = control.failures.find(symbol);
  if (failure != control.failures.end() && --failure->second.call == 0)
    return failure->second.result;
  return result::success;
}

static void say(const std::string &where, const Error &error) {
  std::fprintf(stderr, "fake libamdhip64: %s: %s\n", where.c_str(), error.what());
  for (const std::string &note : error.notes)
    std::fprintf(stderr, "  note: %s\n", note.c_str());
}

Result attempt(const char *symbol, Result code, const std::function<void()> &work) {
  try {
    work();
    return result::success;
  } catch (const Error &error) {
    say(symbol, error);
    return code;
  }
}

Result lose(const Error &error) {
  say("a kernel failed", error);
  std::lock_guard lock(state().mutex);
  return state().control.lost = result::launchFailed;
}

Result drain(Stream stream) {
  stream->asked = 0;
  try {
    stream->stream->synchronize();
  } catch (const Error &error) {
    return lose(error);
  }
  return result::success;
}

void waitForTheDevice(const char *symbol) {
  std::vector<Stream> busy;
  {
    std::lock_guard lock(state().mutex);
    for (Stream stream : state().streams)
      if (stream->device == current && !stream->capturing && !stream->isIdle())
        busy.push_back(stream);
    if (!busy.empty())
      state().control.waits.emplace_back(symbol);
  }
  for (Stream stream : busy)
    drain(stream);
}

static Result allocate(const char *symbol, Address *address, size_t bytes, unsigned flags) {
  Caching caching = flags == mallocFineGrained ? Caching::FineGrained
                    : flags == mallocUncached  ? Caching::Uncached
                                               : Caching::Normal;
  return attempt(symbol, result::outOfMemory, [&] {
    int owner = current;
    Buffer buffer = deviceOf(owner).allocate(bytes, "", caching);
    *address = buffer.address();
    std::lock_guard lock(state().mutex);
    state().memory[*address] = {std::move(buffer), owner};
    state().control.kinds.push_back(flags);
    ++state().control.liveAllocations;
  });
}

extern "C" {

__attribute__((visibility("default"))) FakeHip *fakeHip() {
  return &state().control;
}

Result hipDrvGetErrorName(Result result, const char **name) {
  static const std::map<Result, const char *> names = {{1, "hipErrorInvalidValue"},
                                                       {2, "hipErrorOutOfMemory"},
                                                       {9, "hipErrorInvalidConfiguration"},
                                                       {100, "hipErrorNoDevice"},
                                                       {101, "hipErrorInvalidDevice"},
                                                       {200, "hipErrorInvalidImage"},
                                                       {209, "hipErrorNoBinaryForGpu"},
                                                       {500, "hipErrorNotFound"},
                                                       {600, "hipErrorNotReady"},
                                                       {704, "hipErrorPeerAccessAlreadyEnabled"},
                                                       {719, "hipErrorLaunchFailure"},
                                                       {720, "hipErrorCooperativeLaunchTooLarge"},
                                                       {900, "hipErrorStreamCaptureUnsupported"},
                                                       {901, "hipErrorStreamCaptureInvalidated"}};
  auto found = names.find(result);
  *name = found == names.end() ? nullptr : found->second;
  return found == names.end() ? result::invalidValue : result::success;
}

Result hipDrvGetErrorString(Result result, const char **text) {
  const char *name = nullptr;
  if (hipDrvGetErrorName(result, &name))
    return result::invalidValue;
  *text = "what the fake says of it";
  return result::success;
}

Result hipInit(unsigned) {
  ENTER(hipInit);
  return result::success;
}

Result hipDriverGetVersion(int *version) {
  ENTER(hipDriverGetVersion);
  *version = state().control.version;
  return result::success;
}

Result hipGetDeviceCount(int *count) {
  ENTER(hipGetDeviceCount);
  *count = state().control.devices;
  return result::success;
}

Result hipDeviceGet(DeviceNumber *device, int ordinal) {
  ENTER(hipDeviceGet);
  *device = ordinal;
  return result::success;
}

Result hipDeviceGetName(char *name, int size, DeviceNumber) {
  ENTER(hipDeviceGetName);
  std::strncpy(name, "Simulated GPU", size_t(size));
  return result::success;
}

Result hipGetDevicePropertiesR0600(DeviceProperties *properties, int) {
  ENTER(hipGetDevicePropertiesR0600);
  *properties = {};
  std::strncpy(properties->architecture, state().control.architecture.c_str(), sizeof properties->architecture - 1);
  return result::success;
}

Result hipDeviceGetAttribute(int *value, int which, DeviceNumber device) {
  ENTER(hipDeviceGetAttribute);
  const Chip &chip = deviceOf(device).chip();
  *value = which == attribute::computeUnits        ? chip.computeUnits
           : which == attribute::maxSharedPerBlock ? int(chip.sharedMemoryBytes)
                                                   : 0;
  return result::success;
}

Result hipDeviceCanAccessPeer(int *able, DeviceNumber from, DeviceNumber to) {
  ENTER(hipDeviceCanAccessPeer);
  *able = state().control.peers && from != to;
  return result::success;
}

Result hipExtGetLinkTypeAndHopCount(int, int, uint32_t *type, uint32_t *hops) {
  ENTER(hipExtGetLinkTypeAndHopCount);
  *type = state().control.linkType;
  *hops = state().control.hops;
  return result::success;
}

Result hipDeviceEnablePeerAccess(int peer, unsigned) {
  ENTER(hipDeviceEnablePeerAccess);
  std::lock_guard lock(state().mutex);
  return state().enabledPeers.insert({current, peer}).second ? result::success : result::peerAlreadyEnabled;
}

Result hipGetDevice(int *device) {
  ENTER(hipGetDevice);
  *device = current;
  return result::success;
}

Result hipSetDevice(int device) {
  ENTER(hipSetDevice);
  if (device < 0 || device >= state().control.devices)
    return 101;
  current = device;
  return result::success;
}

Result hipMemGetInfo(size_t *freeBytes, size_t *totalBytes) {
  ENTER(hipMemGetInfo);
  MemoryInfo info = deviceOf(current).memoryInfo();
  *freeBytes = info.freeBytes;
  *totalBytes = info.totalBytes;
  return result::success;
}

Result hipMalloc(Address *address, size_t bytes) {
  ENTER(hipMalloc);
  return allocate("hipMalloc", address, bytes, 0);
}

Result hipExtMallocWithFlags(Address *address, size_t bytes, unsigned flags) {
  ENTER(hipExtMallocWithFlags);
  return allocate("hipExtMallocWithFlags", address, bytes, flags);
}

Result hipFree(Address address) {
  ENTER(hipFree);
  waitForTheDevice("hipFree");
  Buffer freed; // after the lock: it calls the device
  std::lock_guard lock(state().mutex);
  auto found = state().memory.find(address);
  if (found == state().memory.end())
    return result::invalidValue;
  freed = std::move(found->second.first);
  state().memory.erase(found);
  --state().control.liveAllocations;
  return result::success;
}

Result hipHostMalloc(void **memory, size_t bytes, unsigned) {
  ENTER(hipHostMalloc);
  *memory = std::malloc(bytes);
  std::lock_guard lock(state().mutex);
  state().pinned[static_cast<char *>(*memory)] = bytes;
  ++state().control.livePinned;
  return result::success;
}

Result hipHostFree(void *memory) {
  ENTER(hipHostFree);
  waitForTheDevice("hipHostFree");
  std::lock_guard lock(state().mutex);
  if (!state().pinned.erase(static_cast<char *>(memory)))
    return result::invalidValue;
  std::free(memory);
  --state().control.livePinned;
  return result::success;
}

Result hipPointerGetAttribute(void *value, int which, Address address) {
  ENTER(hipPointerGetAttribute);
  std::lock_guard lock(state().mutex);
  for (const auto &[start, bytes] : state().pinned)
    if (which == gpu::pointerMemoryType && address - Address(start) < bytes) {
      *static_cast<int *>(value) = gpu::memoryTypeHost;
      return result::success;
    }
  return result::invalidValue;
}

} // extern "C"

} // namespace heddle::fake_hip
