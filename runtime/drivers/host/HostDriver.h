// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The host as a driver: any number of virtual devices, each with memory of its own account, on the threads of one pool.
#pragma once
#include "runtime/Driver.h"
#include <functional>
#include <mutex>

namespace heddle {

/// Virtual devices are host:0 to host:63.
inline constexpr int hostDeviceCount = 64;

class HostDevice : public Device {
public:
  explicit HostDevice(int ordinal);

  std::string name() const override;
  std::string description() const override;
  Driver &driver() const override;
  int ordinal() const override { return number; }
  const Chip &chip() const override;
  MemoryInfo memoryInfo() const override;
  std::vector<SharingKind> sharing() const override { return {SharingKind::MemoryFile}; }
  ExportedRange exportRange(uint64_t address, uint64_t sizeBytes) override;
  std::unique_ptr<Stream> createStream() override;
  std::shared_ptr<Event> createEvent() override;
  std::shared_ptr<Module> loadModule(const Package &package) override;

protected:
  uint64_t allocateMemory(uint64_t sizeBytes, const std::string &name) override;
  void freeMemory(uint64_t address) noexcept override;
  uint64_t allocateShareable(uint64_t sizeBytes, const std::string &name, Caching caching, SharingKind kind) override;
  ExportedMemory exportAllocation(uint64_t address, uint64_t sizeBytes) override;
  uint64_t importAllocation(const ExportedMemory &memory, const std::string &name) override;
  void adoptMemory(uint64_t address, uint64_t sizeBytes, const std::string &name) override;
  void leaveMemory(uint64_t address, uint64_t sizeBytes) noexcept override;

private:
  uint64_t account(uint64_t sizeBytes, const std::string &name, const std::function<uint64_t()> &allocate);

  const int number;
  const uint64_t limitBytes; ///< HEDDLE_HOST_MEMORY when the device was opened; 0 is none
  mutable std::mutex mutex;
  uint64_t usedBytes = 0;
};

Driver &hostDriver();

} // namespace heddle
