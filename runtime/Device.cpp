// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts of the interfaces that are no driver's: ownership of buffers, the homes of the virtual tables, waiting for
// several streams.
#include "runtime/Device.h"
#include "runtime/Event.h"
#include "runtime/Module.h"
#include "runtime/Stream.h"
#include "support/Error.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle {

Device::~Device() = default;
Event::~Event() = default;
Graph::~Graph() = default;
Module::~Module() = default;
Stream::~Stream() = default;

static Error noGraphs() {
  return environmentError("the driver of this stream has no graphs");
}

void Stream::launch(Graph &) {
  throw noGraphs();
}

void Stream::beginCapture() {
  throw noGraphs();
}

std::unique_ptr<Graph> Stream::endCapture() {
  throw noGraphs();
}

std::exception_ptr synchronizeAll(const std::vector<Stream *> &streams) {
  std::exception_ptr first;
  for (Stream *stream : streams) {
    try {
      stream->synchronize();
    } catch (...) {
      if (!first)
        first = std::current_exception();
    }
  }
  return first;
}

int fewestComputeUnits(const std::vector<std::shared_ptr<Device>> &devices) {
  auto byUnits = [](const auto &a, const auto &b) { return a->computeUnits() < b->computeUnits(); };
  auto fewest = std::min_element(devices.begin(), devices.end(), byUnits);
  return fewest == devices.end() ? 0 : (*fewest)->computeUnits();
}

const char *kindOfMemory(Caching caching) {
  return caching == Caching::Normal        ? ""
         : caching == Caching::FineGrained ? " of fine-grained memory"
                                           : " of uncached memory";
}

Buffer Device::allocate(uint64_t sizeBytes, const std::string &name, Caching caching) {
  return Buffer(shared_from_this(), allocateCached(sizeBytes, name, caching), sizeBytes);
}

const char *sharingName(SharingKind kind) {
  return kind == SharingKind::MemoryFile       ? "memory file"
         : kind == SharingKind::CudaDescriptor ? "CUDA descriptor"
                                               : "CUDA handle";
}

static Error noSharing(const Device &device, SharingKind kind) {
  return inputError(
      fmt::format("{}: its memory cannot be shared between processes by {}", device.name(), sharingName(kind)));
}

Buffer Device::allocateShared(uint64_t sizeBytes, const std::string &bufferName, Caching caching, SharingKind kind) {
  std::vector<SharingKind> kinds = sharing();
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
    throw noSharing(*this, kind);
  return Buffer(shared_from_this(), allocateShareable(sizeBytes, bufferName, caching, kind), sizeBytes);
}

ExportedMemory Device::exportMemory(const Buffer &buffer) {
  return exportAllocation(buffer.address(), buffer.sizeBytes());
}

Buffer Device::importMemory(const ExportedMemory &memory, const std::string &bufferName) {
  std::vector<SharingKind> kinds = sharing();
  if (std::find(kinds.begin(), kinds.end(), memory.kind) == kinds.end() || memory.sizeBytes == 0)
    throw noSharing(*this, memory.kind);
  return Buffer(shared_from_this(), importAllocation(memory, bufferName), memory.sizeBytes);
}

uint64_t Device::allocateShareable(uint64_t, const std::string &, Caching, SharingKind kind) {
  throw noSharing(*this, kind);
}

ExportedMemory Device::exportAllocation(uint64_t, uint64_t) {
  throw noSharing(*this, SharingKind::MemoryFile);
}

ExportedRange Device::exportRange(uint64_t, uint64_t) {
  throw noSharing(*this, SharingKind::MemoryFile);
}

uint64_t Device::importAllocation(const ExportedMemory &memory, const std::string &) {
  throw noSharing(*this, memory.kind);
}

Buffer Device::adopt(uint64_t address, uint64_t sizeBytes, const std::string &bufferName) {
  if (address == 0 || sizeBytes > UINT64_MAX - address)
    throw inputError(fmt::format("{}: no memory has {} bytes at address {:#x}", name(), sizeBytes, address));
  adoptMemory(address, sizeBytes, bufferName);
  return Buffer(shared_from_this(), address, sizeBytes, true);
}

void Device::adoptMemory(uint64_t address, uint64_t sizeBytes, const std::string &bufferName) {
  throw inputError(fmt::format("{}: its kernels cannot use memory that is not the device's: {} bytes at {:#x}{}",
                               name(), sizeBytes, address, bufferName.empty() ? "" : " of `" + bufferName + "`"),
                   {"allocate a buffer of the device, and copy to it and back"});
}

void Device::leaveMemory(uint64_t, uint64_t) noexcept {}

std::unique_ptr<Stream> Device::adoptStream(void *handle) {
  throw inputError(fmt::format("{}: it has no streams of others, and was given {}", name(), fmt::ptr(handle)),
                   {"create a stream of the device"});
}

Buffer::~Buffer() {
  if (owner && adopted)
    owner->leaveMemory(start, size);
  else if (owner)
    owner->freeMemory(start);
}

} // namespace heddle
