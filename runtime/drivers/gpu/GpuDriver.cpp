// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Starts the library at the first use, lists devices and links, and closes it after the last.
#include "runtime/drivers/gpu/GpuDriver.h"
#include "chips/Chip.h"
#include "runtime/drivers/gpu/GpuStream.h"
#include "support/Knobs.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle {

const Chip *findChip(Vendor vendor, const std::string &name) {
  for (const Chip *chip : allChips())
    if (chip->vendor == vendor && chip->name == name)
      return chip;
  return nullptr;
}

std::string listChips(Vendor vendor) {
  std::string list;
  for (const Chip *chip : allChips())
    if (chip->vendor == vendor)
      list += (list.empty() ? "" : ", ") + chip->name;
  return list;
}

GpuDriver::~GpuDriver() = default;

void GpuDriver::close() {
  gate.collect();
  staging.freeAll();
  for (const auto &context : contexts)
    if (context)
      api->release(*context);
}

void GpuDriver::start() const {
  std::call_once(started, [&] {
    try {
      auto opened = openLibrary();
      int perGpu = devicesPerGpu();
      opened->call(opened->vendor.library, opened->deviceGetCount, &gpuCount);
      if (gpuCount == 0)
        startProblem = fmt::format("the {} has no device", opened->vendor.library);
      peers.resize(size_t(gpuCount) * size_t(gpuCount));
      count = perGpu * gpuCount;
      api = std::move(opened);
    } catch (const Error &error) {
      startProblem = error.what();
      for (const std::string &note : error.notes)
        startProblem += "; " + note;
    }
  });
}

std::string GpuDriver::description() const {
  start();
  return api ? fmt::format("{} in {}", api->versionText(), api->library()) : "";
}

std::string GpuDriver::problem() const {
  start();
  return startProblem;
}

int GpuDriver::deviceCount() const {
  start();
  return count;
}

bool GpuDriver::canAccessPeer(int from, int to) const {
  start();
  if (from < 0 || to < 0 || from >= count || to >= count)
    return false;
  std::lock_guard lock(mutex);
  return askPeer(from, to);
}

/// Called with the mutex held.
bool GpuDriver::askPeer(int from, int to) const {
  if (gpuOf(from) == gpuOf(to))
    return true;
  std::optional<bool> &known = peers[size_t(gpuOf(from) * gpuCount + gpuOf(to))];
  if (!known) {
    gpu::DeviceNumber fromNumber = 0, toNumber = 0;
    int able = 0;
    api->call(fmt::format("{}:{}", shortName, from), api->deviceGet, &fromNumber, gpuOf(from));
    api->call(fmt::format("{}:{}", shortName, to), api->deviceGet, &toNumber, gpuOf(to));
    api->call(fmt::format("{}:{}", shortName, from), api->deviceCanAccessPeer, &able, fromNumber, toNumber);
    known = able != 0;
  }
  return *known;
}

std::unique_ptr<GpuContext> GpuDriver::makeContext(int ordinal) {
  std::string name = fmt::format("{}:{}", shortName, ordinal);
  gpu::DeviceNumber number = 0;
  char product[256] = {};
  int units = 0, sharedBytes = 0;
  api->call(name, api->deviceGet, &number, gpuOf(ordinal));
  api->call(name, api->deviceGetName, product, int(sizeof product - 1), number);
  const Chip *chip = identify(name, number, product);
  api->call(name, api->deviceGetAttribute, &units, api->vendor.unitCount, number);
  api->call(name, api->deviceGetAttribute, &sharedBytes, api->vendor.sharedPerBlock, number);
  void *handle = makeHandle(name, number);
  return std::unique_ptr<GpuContext>(new GpuContext{*api, memory, gate, staging, ordinal, name, number, product, chip,
                                                    units, sharedBytes, count / gpuCount, handle});
}

/// Lets kernels on `from` use the memory of `to`.
void GpuDriver::connect(const GpuContext &from, const GpuContext &to) {
  if (from.number == to.number || !askPeer(from.ordinal, to.ordinal))
    return;
  GpuScope scope(from);
  GpuResult done = api->enablePeer(from, to);
  if (done.result != gpu::result::peerAlreadyEnabled)
    api->check(fmt::format("{}, access to the memory of {}", from.name, to.name), done);
}

std::shared_ptr<Device> GpuDriver::open(int ordinal) {
  start();
  if (ordinal < 0 || ordinal >= count)
    throw environmentError(fmt::format("device `{}:{}`: there are {} {} devices", shortName, ordinal, count, title),
                           {startProblem});
  std::lock_guard lock(mutex);
  contexts.resize(size_t(count));
  devices.resize(size_t(count));
  std::unique_ptr<GpuContext> &context = contexts[size_t(ordinal)];
  if (!context) {
    context = makeContext(ordinal);
    try {
      for (const auto &other : contexts)
        if (other && other != context) {
          connect(*context, *other);
          connect(*other, *context);
        }
    } catch (...) {
      api->release(*context);
      context.reset();
      throw;
    }
  }
  std::shared_ptr<GpuDevice> device = devices[size_t(ordinal)].lock();
  if (!device)
    devices[size_t(ordinal)] = device = makeDevice(*context);
  return device;
}

std::string GpuDevice::description() const {
  return fmt::format("{}, {}, {} {}, {} MiB of memory{}", gpu.product, gpu.chip->name, gpu.multiprocessors,
                     gpu.api.vendor.unitWord, memoryInfo().totalBytes >> 20,
                     gpu.sharers > 1 ? fmt::format(", shared by {} devices", gpu.sharers) : "");
}

MemoryInfo GpuDevice::memoryInfo() const {
  GpuScope scope(gpu);
  size_t freeBytes = 0, totalBytes = 0;
  gpu.call(gpu.api.memoryGetInfo, &freeBytes, &totalBytes);
  return {totalBytes, freeBytes};
}

int GpuDevice::computeUnits() const {
  return std::max(1, gpu.multiprocessors / gpu.sharers);
}

std::unique_ptr<Stream> GpuDevice::createStream() {
  return std::make_unique<GpuStream>(std::static_pointer_cast<GpuDevice>(shared_from_this()));
}

std::unique_ptr<Stream> GpuDevice::adoptStream(void *handle) {
  return std::make_unique<GpuStream>(std::static_pointer_cast<GpuDevice>(shared_from_this()),
                                     static_cast<gpu::Stream>(handle));
}

std::shared_ptr<Event> GpuDevice::createEvent() {
  return std::make_shared<GpuEvent>(std::static_pointer_cast<GpuDevice>(shared_from_this()));
}

uint64_t GpuDevice::allocateMemory(uint64_t sizeBytes, const std::string &bufferName) {
  return gpu.memory.allocate(gpu, sizeBytes, bufferName, Caching::Normal);
}

uint64_t GpuDevice::allocateCached(uint64_t sizeBytes, const std::string &bufferName, Caching caching) {
  return gpu.memory.allocate(gpu, sizeBytes, bufferName, caching);
}

void GpuDevice::freeMemory(uint64_t address) noexcept {
  gpu.memory.retire(address);
}

void GpuDevice::adoptMemory(uint64_t address, uint64_t sizeBytes, const std::string &bufferName) {
  gpu.memory.adopt(gpu, {address, sizeBytes, bufferName, gpu.name});
}

void GpuDevice::leaveMemory(uint64_t address, uint64_t sizeBytes) noexcept {
  gpu.memory.leave(address, sizeBytes);
}

} // namespace heddle
