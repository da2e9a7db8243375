// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copies, launches and host functions in the vendor's stream; errors are kept until the stream is synchronised.
#include "runtime/drivers/gpu/GpuStream.h"
#include "runtime/LaunchReport.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace heddle {
namespace {

std::shared_ptr<GpuModule> requireModule(const Launch &launch, const GpuContext &gpu) {
  const std::string &kernel = launch.kernel.package().kernel;
  auto module = std::dynamic_pointer_cast<GpuModule>(launch.kernel.module);
  if (!module || &module->context().api != &gpu.api)
    throw inputError(fmt::format("kernel `{}` was loaded on a device of another driver", kernel));
  if (&module->context() != &gpu)
    throw inputError(
        fmt::format("kernel `{}` was loaded on {}, the stream is of {}", kernel, module->context().name, gpu.name),
        {"load it on each device that runs it"});
  return module;
}

/// The kernel's parameters: a slot of 8 bytes each, of which the driver reads as many as the parameter has, then the
/// tensor maps.
struct Parameters {
  Parameters(const Launch &launch, uint64_t record, std::vector<TensorMapParameter> tensorMaps)
      : slots(argumentSlots(launch)), maps(std::move(tensorMaps)) {
    slots.push_back(record);
    pointers.reserve(slots.size() + maps.size());
    for (uint64_t &slot : slots)
      pointers.push_back(&slot);
    for (TensorMapParameter &map : maps)
      pointers.push_back(&map);
  }
  std::vector<uint64_t> slots;
  std::vector<TensorMapParameter> maps;
  std::vector<void *> pointers;
};

} // namespace

GpuStream::GpuStream(std::shared_ptr<GpuDevice> theDevice) : device(std::move(theDevice)), gpu(device->context()) {
  GpuScope scope(gpu);
  // Not at the first copy: to pin memory takes long.
  staging = std::make_unique<GpuStaging>(gpu);
  gpu.call(gpu.api.streamCreate, &handle, gpu::streamNonBlocking, 0);
  gpu.gate.addStream(gpu, handle);
}

GpuStream::GpuStream(std::shared_ptr<GpuDevice> theDevice, gpu::Stream adopted)
    : device(std::move(theDevice)), gpu(device->context()), handle(adopted), isAdopted(true) {}

GpuStream::~GpuStream() {
  try {
    close();
  } catch (const Error &) { // nothing can be asked of a lost context
  }
  gpu.gate.collect();
}

void GpuStream::close() {
  GpuScope scope(gpu);
  if (capture) {
    gpu::Graph graph = nullptr;
    if (gpu.api.streamEndCapture(handle, &graph) == gpu::result::success && graph)
      gpu.api.graphDestroy(graph);
  }
  if (isAdopted && pending.calls.empty())
    return;
  if (gpu.api.streamSynchronize(handle))
    pending.abandonCalls();
  if (isAdopted)
    return;
  gpu.gate.removeStream(handle);
  gpu.api.streamDestroy(handle);
}

bool GpuStream::isPinned(const void *memory, uint64_t sizeBytes) const {
  for (uint64_t offset : {uint64_t(0), sizeBytes - 1}) {
    int type = 0;
    auto address = reinterpret_cast<gpu::Address>(memory) + offset;
    if (gpu.api.pointerGetAttribute(&type, gpu::pointerMemoryType, address) || type != gpu::memoryTypeHost)
      return false;
  }
  return true;
}

void *GpuStream::stagingMemory() {
  std::unique_ptr<GpuStaging> &own = capture ? capture->staging : staging;
  if (!own)
    own = std::make_unique<GpuStaging>(gpu);
  return own->memory();
}

void GpuStream::addCall(std::function<void()> function, bool isCopy) {
  GpuWork &into = work();
  if (!capture)
    into.forgetDone();
  into.calls.push_back(std::unique_ptr<GpuHostCall>(new GpuHostCall{std::move(function), into.errors, isCopy}));
  try {
    enqueue(gpu.api.launchHostFunction, handle, &GpuHostCall::run, static_cast<void *>(into.calls.back().get()));
  } catch (...) {
    into.calls.pop_back();
    throw;
  }
}

void GpuStream::copyToDevice(uint64_t destination, const void *source, uint64_t sizeBytes) {
  requireAllocation(*gpu.memory.snapshot(), "copy to the device", destination, sizeBytes);
  if (sizeBytes == 0)
    return;
  GpuScope scope(gpu);
  std::lock_guard lock(mutex);
  if (isPinned(source, sizeBytes))
    return enqueue(gpu.api.copyToDevice, destination, source, size_t(sizeBytes), handle);
  void *between = stagingMemory();
  for (uint64_t done = 0; done < sizeBytes; done += GpuStaging::sizeBytes) {
    uint64_t piece = std::min(sizeBytes - done, GpuStaging::sizeBytes);
    const void *from = static_cast<const char *>(source) + done;
    addCall([=] { std::memcpy(between, from, piece); }, true);
    enqueue(gpu.api.copyToDevice, destination + done, static_cast<const void *>(between), size_t(piece), handle);
  }
}

void GpuStream::copyToHost(void *destination, uint64_t source, uint64_t sizeBytes) {
  requireAllocation(*gpu.memory.snapshot(), "copy to the host", source, sizeBytes);
  if (sizeBytes == 0)
    return;
  GpuScope scope(gpu);
  std::lock_guard lock(mutex);
  if (isPinned(destination, sizeBytes))
    return enqueue(gpu.api.copyToHost, destination, source, size_t(sizeBytes), handle);
  void *between = stagingMemory();
  for (uint64_t done = 0; done < sizeBytes; done += GpuStaging::sizeBytes) {
    uint64_t piece = std::min(sizeBytes - done, GpuStaging::sizeBytes);
    void *to = static_cast<char *>(destination) + done;
    enqueue(gpu.api.copyToHost, between, source + done, size_t(piece), handle);
    addCall([=] { std::memcpy(to, between, piece); }, true);
  }
}

void GpuStream::copy(uint64_t destination, uint64_t source, uint64_t sizeBytes) {
  auto map = gpu.memory.snapshot();
  requireAllocation(*map, "copy, destination", destination, sizeBytes);
  requireAllocation(*map, "copy, source", source, sizeBytes);
  const GpuContext *to = gpu.memory.contextOf(destination), *from = gpu.memory.contextOf(source);
  if (sizeBytes == 0 || !to || !from)
    return;
  Driver &driver = device->driver();
  bool reachable = driver.canAccessPeer(to->ordinal, from->ordinal) && driver.canAccessPeer(from->ordinal, to->ordinal);
  GpuScope scope(gpu);
  std::lock_guard lock(mutex);
  if (reachable)
    return enqueue(gpu.api.copyOnDevice, destination, source, size_t(sizeBytes), handle);
  auto admitted = gpu.gate.admit();
  work().leavesRoom = false;
  gpu.api.check(gpu.name, gpu.api.copyPeer(destination, *to, source, *from, size_t(sizeBytes), handle));
}

void GpuStream::fill(uint64_t destination, uint8_t value, uint64_t sizeBytes) {
  requireAllocation(*gpu.memory.snapshot(), "fill", destination, sizeBytes);
  if (sizeBytes == 0)
    return;
  GpuScope scope(gpu);
  std::lock_guard lock(mutex);
  enqueue(gpu.api.fillBytes, destination, value, size_t(sizeBytes), handle);
}

void GpuStream::launch(const Launch &launch) {
  checkLaunch(launch);
  auto module = requireModule(launch, gpu);
  module->checkGrid(launch);
  GpuScope scope(gpu);
  std::lock_guard lock(mutex);
  bool reports = !module->package().sites.empty();
  if (isAdopted)
    checkAdopted(module->package());
  std::vector<TensorMapParameter> maps = module->tensorMaps(launch);
  Parameters parameters(launch, reports ? clearRecord() : 0, std::move(maps));
  {
    auto admitted = gpu.gate.admit();
    GpuResult done = module->launch(launch, handle, parameters.pointers.data(), work().leavesRoom);
    if (done.result) // the text takes as long as the rest of a launch
      gpu.api.check(fmt::format("{}: kernel `{}`", gpu.name, module->package().kernel), done);
    work().leavesRoom = module->leavesRoom(launch);
  }
  work().objects.insert(module);
  if (reports)
    readRecord(module, launch.grid);
}

/// The stream's owner waits for it without asking this object for errors, and replays what it captures without the host
/// functions being kept.
void GpuStream::checkAdopted(const Package &package) {
  if (!pending.calls.empty())
    if (std::exception_ptr error = pending.errors->take())
      std::rethrow_exception(error);
  for (const auto &errors : pending.graphErrors)
    if (std::exception_ptr error = errors->take())
      std::rethrow_exception(error);
  if (package.sites.empty())
    return;
  uint64_t capturing = 0;
  gpu.api.check(gpu.name, gpu.api.captureOf(handle, &capturing));
  if (capturing != 0)
    throw inputError(
        fmt::format("{}: kernel `{}` prints or has assertions, and another library captures its stream into a graph",
                    gpu.name, package.kernel),
        {"capture it by a stream of Heddle's, or compile it without them"});
}

uint64_t GpuStream::clearRecord() {
  Buffer &own = capture ? capture->launchRecord : launchRecord;
  if (!own.address())
    own = device->allocate(uint64_t(launchRecordBytes), "launch record");
  enqueue(gpu.api.fillBytes, own.address(), uint8_t(0), size_t(launchRecordBytes), handle);
  return own.address();
}

/// Work of the stream comes in order, so its next launch may use the same record.
void GpuStream::readRecord(std::shared_ptr<GpuModule> module, std::array<int64_t, 3> grid) {
  static_assert(launchRecordBytes <= int64_t(GpuStaging::sizeBytes));
  void *between = stagingMemory();
  uint64_t from = (capture ? capture->launchRecord : launchRecord).address();
  enqueue(gpu.api.copyToHost, between, from, size_t(launchRecordBytes), handle);
  addCall([module = std::move(module), grid, between] { reportLaunch(module->package(), grid, between); }, false);
}

void GpuStream::launch(Graph &graph) {
  auto *own = dynamic_cast<GpuGraph *>(&graph);
  if (!own || &own->state()->device->context().api != &gpu.api)
    throw inputError("the graph belongs to a stream of another driver");
  GpuScope scope(gpu);
  std::lock_guard lock(mutex);
  if (capture)
    throw inputError(gpu.name + ": a graph cannot be launched into a capture");
  enqueue(gpu.api.graphLaunch, own->state()->handle, handle);
  pending.objects.insert(own->state());
  pending.graphErrors.insert(own->state()->work.errors);
}

void GpuStream::record(const std::shared_ptr<Event> &event) {
  auto own = requireGpuEvent(event, gpu);
  if (&own->context() != &gpu)
    throw inputError(fmt::format("an event of {} cannot be recorded in a stream of {}", own->context().name, gpu.name),
                     {"create it with the stream's device"});
  GpuScope scope(gpu);
  std::lock_guard lock(mutex);
  enqueue(gpu.api.eventRecord, own->raw(), handle);
  own->markRecorded(capture);
}

void GpuStream::wait(const std::shared_ptr<Event> &event) {
  auto own = requireGpuEvent(event, gpu);
  GpuScope scope(gpu);
  std::lock_guard lock(mutex);
  GpuEvent::Place place = own->recordedIn(capture);
  if (place == GpuEvent::Place::OtherCapture)
    throw inputError(gpu.name + ": the event was recorded in a capture, and only that capture can wait for it");
  if (place == GpuEvent::Place::Stream && capture)
    throw inputError(gpu.name + ": a capture cannot wait for an event that was recorded outside of it",
                     {"wait before the capture begins"});
  if (place == GpuEvent::Place::Nowhere)
    return;
  enqueue(gpu.api.streamWaitEvent, handle, own->raw(), 0u);
}

void GpuStream::waitAcrossGraphs(const std::shared_ptr<Event> &event) {
  auto own = requireGpuEvent(event, gpu);
  if (!gpu.api.hasEventsAcrossGraphs())
    return;
  GpuScope scope(gpu);
  std::lock_guard lock(mutex);
  enqueue(gpu.api.streamWaitEvent, handle, own->raw(), gpu::waitExternal);
}

void GpuStream::recordAcrossGraphs(const std::shared_ptr<Event> &event) {
  auto own = requireGpuEvent(event, gpu);
  if (!gpu.api.hasEventsAcrossGraphs())
    return;
  GpuScope scope(gpu);
  std::lock_guard lock(mutex);
  gpu.api.check(gpu.name, gpu.api.recordInGraph(handle, own->raw(), own->graphRecord()));
}

void GpuStream::hostFunction(std::function<void()> function) {
  GpuScope scope(gpu);
  std::lock_guard lock(mutex);
  addCall(std::move(function), false);
}

void GpuStream::beginCapture() {
  GpuScope scope(gpu);
  std::lock_guard lock(mutex);
  if (capture)
    throw inputError(gpu.name + ": the stream is being captured already");
  auto state = std::make_shared<GpuGraph::State>(device);
  enqueue(gpu.api.streamBeginCapture, handle, gpu::captureRelaxed);
  capture = std::move(state);
}

std::unique_ptr<Graph> GpuStream::endCapture() {
  GpuScope scope(gpu);
  std::lock_guard lock(mutex);
  if (!capture)
    throw inputError(gpu.name + ": the stream is not being captured");
  auto state = std::move(capture);
  gpu::Graph graph = nullptr;
  enqueue(gpu.api.streamEndCapture, handle, &graph);
  gpu::Result result = gpu.api.graphInstantiate(&state->handle, graph, 0ull);
  gpu.api.graphDestroy(graph);
  if (result)
    throw gpu.api.error(gpu.name, gpu.api.graphInstantiate.symbol, result);
  enqueue(gpu.api.graphUpload, state->handle, handle); // or the first launch would take longer
  return std::make_unique<GpuGraph>(std::move(state));
}

uint64_t GpuStream::captureId() {
  GpuScope scope(gpu);
  uint64_t id = 0;
  gpu.api.check(gpu.name, gpu.api.captureOf(handle, &id));
  return id;
}

uint64_t GpuStream::id() {
  GpuScope scope(gpu);
  return gpu.api.idOf(handle);
}

void GpuStream::synchronize() {
  if (insideGpuHostFunction())
    throw inputError("a host function waits for its own stream");
  GpuScope scope(gpu);
  GpuWork before;
  {
    std::lock_guard lock(mutex);
    if (capture)
      throw inputError(gpu.name + ": a stream that is being captured cannot be waited for", {"end the capture first"});
    before.errors = pending.errors;
    std::swap(before.calls, pending.calls);
    std::swap(before.objects, pending.objects);
    std::swap(before.graphErrors, pending.graphErrors);
  }
  gpu::Result result = gpu.api.streamSynchronize(handle);
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
