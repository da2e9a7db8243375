// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Virtual devices and their memory accounts.
#include "runtime/drivers/host/HostDriver.h"
#include "chips/Chip.h"
#include "runtime/drivers/host/HostMemory.h"
#include "runtime/drivers/host/HostModule.h"
#include "runtime/drivers/host/HostPool.h"
#include "runtime/drivers/host/HostStream.h"
#include "support/Error.h"
#include "support/Knobs.h"
#include "support/SystemMemory.h"
#include <array>
#include <fmt/format.h>
#include <fstream>

namespace heddle {
namespace {

class HostDriver : public Driver {
public:
  std::string name() const override { return "host"; }
  int deviceCount() const override { return hostDeviceCount; }
  bool isVirtual() const override { return true; }
  bool canAccessPeer(int, int) const override { return true; } // all are this process
  std::shared_ptr<Device> open(int ordinal) override {
    std::lock_guard lock(mutex);
    std::weak_ptr<Device> &known = devices.at(size_t(ordinal));
    std::shared_ptr<Device> device = known.lock();
    if (!device)
      known = device = std::make_shared<HostDevice>(ordinal);
    return device;
  }

private:
  std::mutex mutex;
  std::array<std::weak_ptr<Device>, hostDeviceCount> devices;
};

std::string processorName() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line))
    if (line.starts_with("model name"))
      return line.substr(line.find(':') + 2);
  return "host processor";
}

} // namespace

Driver &hostDriver() {
  static HostDriver driver;
  return driver;
}

HostDevice::HostDevice(int ordinal) : number(ordinal), limitBytes(hostMemoryBytes()) {}

std::string HostDevice::name() const {
  return fmt::format("host:{}", number);
}

std::string HostDevice::description() const {
  return fmt::format("{}, {} thread{}, {} MiB of memory", processorName(), hostThreads(), hostThreads() == 1 ? "" : "s",
                     memoryInfo().totalBytes >> 20);
}

Driver &HostDevice::driver() const {
  return hostDriver();
}

const Chip &HostDevice::chip() const {
  return hostChip;
}

MemoryInfo HostDevice::memoryInfo() const {
  std::lock_guard lock(mutex);
  if (limitBytes)
    return {limitBytes, limitBytes - usedBytes};
  return {physicalMemoryBytes(), availableMemoryBytes()};
}

std::unique_ptr<Stream> HostDevice::createStream() {
  return std::make_unique<HostStream>(std::static_pointer_cast<HostDevice>(shared_from_this()));
}

std::shared_ptr<Event> HostDevice::createEvent() {
  return std::make_shared<HostEvent>();
}

std::shared_ptr<Module> HostDevice::loadModule(const Package &package) {
  return HostModule::load(package);
}

uint64_t HostDevice::account(uint64_t sizeBytes, const std::string &bufferName,
                             const std::function<uint64_t()> &allocate) {
  std::lock_guard lock(mutex);
  if (limitBytes && sizeBytes > limitBytes - usedBytes)
    throw outOfMemory(name(), bufferName, sizeBytes, limitBytes - usedBytes,
                      {fmt::format("HEDDLE_HOST_MEMORY limits each host device to {} bytes", limitBytes)});
  uint64_t address = allocate();
  usedBytes += sizeBytes;
  return address;
}

uint64_t HostDevice::allocateMemory(uint64_t sizeBytes, const std::string &bufferName) {
  return account(sizeBytes, bufferName, [&] { return HostMemory::shared().allocate(sizeBytes, bufferName, name()); });
}

uint64_t HostDevice::allocateShareable(uint64_t sizeBytes, const std::string &bufferName, Caching, SharingKind) {
  return account(sizeBytes, bufferName,
                 [&] { return HostMemory::shared().allocateShared(sizeBytes, bufferName, name()); });
}

ExportedMemory HostDevice::exportAllocation(uint64_t address, uint64_t sizeBytes) {
  return {SharingKind::MemoryFile, sizeBytes, "", HostMemory::shared().fileOf(address)};
}

ExportedRange HostDevice::exportRange(uint64_t address, uint64_t sizeBytes) {
  HostMemory::FileRange range = HostMemory::shared().fileOfRange(address, sizeBytes);
  return {{SharingKind::MemoryFile, range.sizeBytes, "", std::move(range.file)}, range.offset};
}

/// It counts for the device that has allocated it.
uint64_t HostDevice::importAllocation(const ExportedMemory &memory, const std::string &bufferName) {
  return HostMemory::shared().map(memory.file, memory.sizeBytes, bufferName, name());
}

void HostDevice::freeMemory(uint64_t address) noexcept {
  uint64_t freedBytes = HostMemory::shared().free(address); // of imported memory 0
  std::lock_guard lock(mutex);
  usedBytes -= freedBytes;
}

void HostDevice::adoptMemory(uint64_t address, uint64_t sizeBytes, const std::string &bufferName) {
  HostMemory::shared().adopt({address, sizeBytes, bufferName, name()});
}

void HostDevice::leaveMemory(uint64_t address, uint64_t sizeBytes) noexcept {
  HostMemory::shared().leave(address, sizeBytes);
}

} // namespace heddle
