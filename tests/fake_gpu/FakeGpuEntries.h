// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The entry points that are the same in the fake libcuda and in the fake libamdhip64. One source of each includes this,
// after the header of its own state: handles, `state()`, ENTER and `enqueue` are that fake's.
#pragma once
#include "tests/fake_gpu/FakeGpuState.h"
#include <cstdlib>
#include <cstring>

namespace heddle::fake {

void readEnvironment(FakeGpu &control, const std::string &prefix) {
  auto read = [&](const char *name) { return std::getenv((prefix + name).c_str()); };
  if (const char *devices = read("DEVICES"))
    control.devices = std::atoi(devices);
  if (const char *peers = read("PEERS"))
    control.peers = std::atoi(peers) != 0;
  if (const char *failure = read("FAIL"))
    if (const char *colon = std::strchr(failure, ':'))
      control.failures[std::string(failure, colon)] = {1, std::atoi(colon + 1)};
}

Result enter(const char *symbol) {
  std::lock_guard guard(state().mutex);
  FakeGpu &control = state().control;
  control.calls.emplace_back(symbol);
  // What destroys goes on, unlike with the real one, or the tests would leak.
  bool always = false;
  for (const char *part : {"Current", "etDevice", "Destroy", "Unload", "Free"})
    always |= std::strstr(symbol, part) != nullptr;
  if (control.lost && !always)
    return control.lost;
  auto failure = control.failures.find(symbol);
  if (failure != control.failures.end() && --failure->second.call == 0)
    return failure->second.result;
  return result::success;
}

Result count(int64_t FakeGpu::*live, int by) {
  std::lock_guard guard(state().mutex);
  state().control.*live += by;
  return result::success;
}

int ownerOf(Address address) {
  std::lock_guard guard(state().mutex);
  auto after = state().memory.upper_bound(address);
  return after == state().memory.begin() ? -1 : std::prev(after)->second.second;
}

Result enablePeer(int peer) {
  std::lock_guard guard(state().mutex);
  return state().enabledPeers.insert({currentDevice(), peer}).second ? result::success : result::peerAlreadyEnabled;
}

Result copyPeer(Address destination, int to, Address source, int from, size_t bytes, Stream stream) {
  if (ownerOf(destination) != to || ownerOf(source) != from)
    return result::invalidValue;
  return enqueue(symbol::copyBetween, stream, [=](auto &own) { own.copy(destination, source, bytes); });
}

static bool mayCopy(Address destination, Address source) {
  int to = ownerOf(destination), from = ownerOf(source);
  std::lock_guard guard(state().mutex);
  return to == from || state().enabledPeers.count({to, from});
}

extern "C" {

// ---- The library and its devices ----

Result getErrorName(Result result, const char **name) {
  auto found = errorNames().find(result);
  bool known = found != errorNames().end();
  *name = known ? found->second : nullptr;
  return known ? result::success : result::invalidValue;
}

Result getErrorString(Result result, const char **text) {
  *text = "what the fake says of it";
  return errorNames().count(result) ? result::success : result::invalidValue;
}

Result init(unsigned) {
  ENTER(init);
  return result::success;
}

Result driverGetVersion(int *version) {
  ENTER(driverGetVersion);
  *version = state().control.version;
  return result::success;
}

Result deviceGetCount(int *count) {
  ENTER(deviceGetCount);
  *count = state().control.devices;
  return result::success;
}

Result deviceGet(DeviceNumber *device, int ordinal) {
  ENTER(deviceGet);
  *device = ordinal;
  return result::success;
}

Result deviceGetName(char *name, int size, DeviceNumber) {
  ENTER(deviceGetName);
  std::strncpy(name, productName, size_t(size));
  return result::success;
}

Result deviceCanAccessPeer(int *able, DeviceNumber from, DeviceNumber to) {
  ENTER(deviceCanAccessPeer);
  *able = state().control.peers && from != to;
  return result::success;
}

// ---- Memory ----

Result memoryGetInfo(size_t *freeBytes, size_t *totalBytes) {
  ENTER(memoryGetInfo);
  MemoryInfo info = memoryInfo();
  *freeBytes = info.freeBytes;
  *totalBytes = info.totalBytes;
  return result::success;
}

Result memoryFree(Address address) {
  ENTER(memoryFree);
  waitForTheDevice(symbol::memoryFree);
  auto freed = [&] { // and let go of without the lock: that may call the device
    std::lock_guard guard(state().mutex);
    return state().memory.extract(address);
  }();
  return freed ? count(&FakeGpu::liveAllocations, -1) : result::invalidValue;
}

Result hostAllocate(void **memory, size_t bytes, unsigned) {
  ENTER(hostAllocate);
  *memory = std::malloc(bytes);
  std::lock_guard guard(state().mutex);
  state().pinned[Address(*memory)] = bytes;
  return count(&FakeGpu::livePinned, 1);
}

Result hostFree(void *memory) {
  ENTER(hostFree);
  waitForTheDevice(symbol::hostFree);
  std::lock_guard guard(state().mutex);
  if (!state().pinned.erase(Address(memory)))
    return result::invalidValue;
  std::free(memory);
  return count(&FakeGpu::livePinned, -1);
}

Result pointerGetAttribute(void *value, int which, Address address) {
  ENTER(pointerGetAttribute);
  std::lock_guard guard(state().mutex);
  for (const auto &[start, bytes] : state().pinned)
    if (which == gpu::pointerMemoryType && address - start < bytes) {
      *static_cast<int *>(value) = gpu::memoryTypeHost;
      return result::success;
    }
  return result::invalidValue;
}

// ---- Streams ----

Result copyToDevice(Address destination, const void *source, size_t bytes, Stream stream) {
  ENTER(copyToDevice);
  return enqueue(symbol::copyToDevice, stream, [=](auto &own) { own.copyToDevice(destination, source, bytes); });
}

Result copyToHost(void *destination, Address source, size_t bytes, Stream stream) {
  ENTER(copyToHost);
  return enqueue(symbol::copyToHost, stream, [=](auto &own) { own.copyToHost(destination, source, bytes); });
}

Result copyOnDevice(Address destination, Address source, size_t bytes, Stream stream) {
  ENTER(copyOnDevice);
  if (!mayCopy(destination, source))
    return result::invalidValue;
  return enqueue(symbol::copyOnDevice, stream, [=](auto &own) { own.copy(destination, source, bytes); });
}

Result fillBytes(Address destination, unsigned char value, size_t bytes, Stream stream) {
  ENTER(fillBytes);
  return enqueue(symbol::fillBytes, stream, [=](auto &own) { own.fill(destination, value, bytes); });
}

Result launchHostFunction(Stream stream, HostFunction function, void *data) {
  ENTER(launchHostFunction);
  return enqueue(symbol::launchHostFunction, stream, [=](auto &own) { own.hostFunction([=] { function(data); }); });
}

Result streamCreate(Stream *stream, unsigned, int) {
  ENTER(streamCreate);
  *stream = new StreamHandle;
  return count(&FakeGpu::liveStreams, 1);
}

Result streamDestroy(Stream stream) {
  ENTER(streamDestroy);
  delete stream;
  return count(&FakeGpu::liveStreams, -1);
}

Result streamSynchronize(Stream stream) {
  ENTER(streamSynchronize);
  return stream->isCapturing() ? result::captureUnsupported : stream->synchronize();
}

// ---- Graphs ----

Result streamIsCapturing(Stream stream, int *status) {
  ENTER(streamIsCapturing);
  *status = stream->isCapturing() ? 1 : 0;
  return result::success;
}

Result streamBeginCapture(Stream stream, int) {
  ENTER(streamBeginCapture);
  return stream->beginCapture();
}

Result streamEndCapture(Stream stream, Graph *graph) {
  Result failure = enter(symbol::streamEndCapture);
  GraphHandle captured{stream->endCapture()}; // also when it fails
  *graph = failure ? nullptr : new GraphHandle(captured);
  return failure ? failure : count(&FakeGpu::liveGraphs, 1);
}

Result graphInstantiate(GraphExec *exec, Graph graph, unsigned long long) {
  ENTER(graphInstantiate);
  *exec = new GraphExecHandle{*graph};
  return count(&FakeGpu::liveGraphs, 1);
}

Result graphUpload(GraphExec, Stream) {
  ENTER(graphUpload);
  return result::success;
}

Result graphLaunch(GraphExec exec, Stream stream) {
  ENTER(graphLaunch);
  return enqueue(symbol::graphLaunch, stream, [=](auto &own) { own.launch(*exec->graph); });
}

Result graphExecDestroy(GraphExec exec) {
  ENTER(graphExecDestroy);
  delete exec;
  return count(&FakeGpu::liveGraphs, -1);
}

Result graphDestroy(Graph graph) {
  ENTER(graphDestroy);
  delete graph;
  return count(&FakeGpu::liveGraphs, -1);
}

// ---- Events ----

Result eventCreate(Event *event, unsigned) {
  ENTER(eventCreate);
  *event = new EventHandle;
  return count(&FakeGpu::liveEvents, 1);
}

Result eventDestroy(Event event) {
  ENTER(eventDestroy);
  delete event;
  return count(&FakeGpu::liveEvents, -1);
}

Result eventQuery(Event event) {
  ENTER(eventQuery);
  return event->isReached() ? result::success : result::notReady;
}

Result eventSynchronize(Event event) {
  ENTER(eventSynchronize);
  return event->synchronize();
}

// ---- Code ----

Result moduleUnload(gpu::Module module) {
  ENTER(moduleUnload);
  waitForTheDevice(symbol::moduleUnload);
  delete module;
  return count(&FakeGpu::liveModules, -1);
}

Result moduleGetFunction(Function *function, gpu::Module module, const char *name) {
  ENTER(moduleGetFunction);
  auto found = findFunction(module, name);
  if (!found)
    return result::notFound;
  *function = found.get();
  module->functions.push_back(std::move(found));
  return result::success;
}

Result launchKernel(Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned x, unsigned y,
                    unsigned z, unsigned sharedBytes, Stream stream, void **parameters, void **) {
  ENTER(launchKernel);
  FakeLaunch plain{.entry = "", .grid = {gridX, gridY, gridZ}, .block = {x, y, z}, .sharedBytes = sharedBytes};
  return launch(symbol::launchKernel, function, plain, stream, parameters);
}

Result launchCooperative(Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned x, unsigned y,
                         unsigned z, unsigned sharedBytes, Stream stream, void **parameters) {
  ENTER(launchCooperative);
  FakeLaunch cooperative{
      .entry = "", .grid = {gridX, gridY, gridZ}, .block = {x, y, z}, .sharedBytes = sharedBytes, .cooperative = true};
  return launch(symbol::launchCooperative, function, cooperative, stream, parameters);
}

} // extern "C"

} // namespace heddle::fake
