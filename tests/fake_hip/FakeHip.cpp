// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A libamdhip64 for machines without a GPU: the entry points of HipApi.h on simulated devices, which execute the code
// objects that they are given. Work runs when a host thread waits, or asks again and again. It can be told to fail
// (FakeHip.h, or FAKE_HIP_FAIL=symbol:result in the environment, with FAKE_HIP_DEVICES, FAKE_HIP_ARCHITECTURE=gfx950
// and FAKE_HIP_PEERS=0). Here devices, memory, streams and events, as far as they are not those of FakeGpuEntries.h;
// code in FakeModules.cpp.
#include "tests/fake_hip/FakeHipState.h"
// It needs that state.
#include "runtime/drivers/simulated/SimulatedDriver.h"
#include "tests/fake_gpu/FakeGpuEntries.h"

namespace heddle::fake {

State &state() {
  static auto *all = [] {
    auto *fresh = new State;
    readEnvironment(fresh->control, "FAKE_HIP_");
    if (const char *architecture = std::getenv("FAKE_HIP_ARCHITECTURE"))
      fresh->control.architecture = architecture;
    return fresh;
  }();
  return *all;
}

const char *const productName = "Simulated GPU";

const std::map<Result, const char *> &errorNames() {
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
  return names;
}

static thread_local int current = 0;

int currentDevice() {
  return current;
}

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

MemoryInfo memoryInfo() {
  return deviceOf(current).memoryInfo();
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

Result enqueue(const char *symbol, Stream stream, const std::function<void(heddle::Stream &)> &work) {
  stream->asked = 0;
  return attempt(symbol, result::invalidValue, [&] { work(*stream->stream); });
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
    stream->synchronize();
}

static Result allocate(const char *symbol, Address *address, size_t bytes, unsigned flags) {
  Caching caching = flags == hip::mallocFineGrained ? Caching::FineGrained
                    : flags == hip::mallocUncached  ? Caching::Uncached
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

Result getProperties(hip::DeviceProperties *properties, int) {
  ENTER(getProperties);
  *properties = {};
  std::strncpy(properties->architecture, state().control.architecture.c_str(), sizeof properties->architecture - 1);
  return result::success;
}

Result deviceGetAttribute(int *value, int which, DeviceNumber device) {
  ENTER(deviceGetAttribute);
  const Chip &chip = deviceOf(device).chip();
  *value = which == hip::attribute::computeUnits        ? chip.computeUnits
           : which == hip::attribute::maxSharedPerBlock ? int(chip.sharedMemoryBytes)
                                                        : 0;
  return result::success;
}

Result getLink(int, int, uint32_t *type, uint32_t *hops) {
  ENTER(getLink);
  *type = state().control.linkType;
  *hops = state().control.hops;
  return result::success;
}

Result enablePeerAccess(int peer, unsigned) {
  ENTER(enablePeerAccess);
  return enablePeer(peer);
}

Result getDevice(int *device) {
  ENTER(getDevice);
  *device = current;
  return result::success;
}

Result setDevice(int device) {
  ENTER(setDevice);
  if (device < 0 || device >= state().control.devices)
    return 101;
  current = device;
  return result::success;
}

Result memoryAllocate(Address *address, size_t bytes) {
  ENTER(memoryAllocate);
  return allocate(symbol::memoryAllocate, address, bytes, 0);
}

Result allocateWithFlags(Address *address, size_t bytes, unsigned flags) {
  ENTER(allocateWithFlags);
  return allocate(symbol::allocateWithFlags, address, bytes, flags);
}

Result copyBetween(Address destination, int to, Address source, int from, size_t bytes, Stream stream) {
  ENTER(copyBetween);
  return copyPeer(destination, to, source, from, bytes, stream);
}

/// Who asks once gets the answer; who asks again lets the devices go on.
Result streamQuery(Stream stream) {
  ENTER(streamQuery);
  if (stream->capturing)
    return result::captureUnsupported;
  if (!stream->isIdle() && stream->asked++ > 0) {
    auto event = deviceOf(stream->device).createEvent();
    stream->stream->record(event);
    event->query();
  }
  return stream->isIdle() ? result::success : result::notReady;
}

Result streamWaitEvent(Stream stream, Event event, unsigned) {
  ENTER(streamWaitEvent);
  if (!event->event)
    return result::success;
  return enqueue(symbol::streamWaitEvent, stream, [=](heddle::Stream &own) { own.wait(event->event); });
}

Result eventRecord(Event event, Stream stream) {
  ENTER(eventRecord);
  if (!event->event)
    event->event = deviceOf(stream->device).createEvent();
  return enqueue(symbol::eventRecord, stream, [=](heddle::Stream &own) { own.record(event->event); });
}

Result eventElapsedTime(float *milliseconds, Event start, Event end) {
  ENTER(eventElapsedTime);
  if (!start->event || !end->event)
    return 400; // no handle of a recorded event
  return attempt(symbol::eventElapsedTime, result::notReady,
                 [&] { *milliseconds = float(end->event->millisecondsSince(*start->event)); });
}

} // extern "C"

} // namespace heddle::fake

namespace heddle::gpu {

using fake::state;

StreamHandle::StreamHandle() : stream(fake::deviceOf(device).createStream()) {
  std::lock_guard lock(state().mutex);
  state().streams.insert(this);
}

StreamHandle::~StreamHandle() {
  std::lock_guard lock(state().mutex);
  state().streams.erase(this);
}

Result StreamHandle::beginCapture() {
  capturing = true;
  return fake::enqueue(fake::symbol::streamBeginCapture, this, [](heddle::Stream &own) { own.beginCapture(); });
}

std::shared_ptr<heddle::Graph> StreamHandle::endCapture() {
  capturing = false;
  return stream->endCapture();
}

/// An error of a kernel: every later call gives it too.
Result StreamHandle::synchronize() {
  asked = 0;
  try {
    stream->synchronize();
  } catch (const Error &error) {
    fake::say("a kernel failed", error);
    std::lock_guard lock(state().mutex);
    return state().control.lost = result::launchFailed;
  }
  return result::success;
}

Result EventHandle::synchronize() {
  if (event)
    event->synchronize();
  return result::success;
}

} // namespace heddle::gpu
