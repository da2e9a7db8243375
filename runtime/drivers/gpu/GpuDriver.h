// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the drivers `cuda` and `hip` have in common: devices that are found, described and connected through a library
// that need not be there. A vendor adds how a device is identified, and its modules.
#pragma once
#include "runtime/Driver.h"
#include "runtime/drivers/gpu/GpuContext.h"
#include "runtime/drivers/gpu/GpuGate.h"
#include "runtime/drivers/gpu/GpuMemory.h"
#include "runtime/drivers/gpu/GpuStaging.h"
#include <mutex>
#include <optional>

namespace heddle {

class GpuDevice;
enum class Vendor;

class GpuDriver : public Driver {
public:
  ~GpuDriver() override;

  std::string name() const override { return shortName; }
  std::string description() const override;
  std::string problem() const override;
  int deviceCount() const override;
  bool canAccessPeer(int from, int to) const override;
  /// Also lets the device and those opened before reach each other's memory, where the machine can. Throws
  /// Error{Environment} for a chip that Heddle has no code for.
  std::shared_ptr<Device> open(int ordinal) override;

protected:
  /// Opens nothing yet. `name` is `cuda` or `hip`, `title` the vendor's word for both.
  GpuDriver(std::string name, std::string title) : shortName(std::move(name)), title(std::move(title)) {}
  void close(); ///< for the destructor of the vendor's class, while its functions can be called

  virtual std::unique_ptr<GpuApi> openLibrary() const = 0;
  /// The chip of a device. Throws Error{Environment} naming `product` and those that Heddle has code for.
  virtual const Chip *identify(const std::string &device, gpu::DeviceNumber number,
                               const std::string &product) const = 0;
  virtual void *makeHandle(const std::string &device, gpu::DeviceNumber number) const = 0; ///< GpuContext::handle
  virtual std::shared_ptr<GpuDevice> makeDevice(const GpuContext &context) = 0;
  const GpuApi &library() const { return *api; } ///< when it has been opened
  int gpuOf(int ordinal) const { return ordinal % gpuCount; }

private:
  void start() const;
  bool askPeer(int from, int to) const;
  std::unique_ptr<GpuContext> makeContext(int ordinal);
  void connect(const GpuContext &from, const GpuContext &to);

  const std::string shortName, title;
  mutable std::once_flag started;
  mutable std::unique_ptr<GpuApi> api; ///< null when there is none
  mutable std::string startProblem;
  mutable std::vector<std::optional<bool>> peers; ///< by GPU, from and to
  /// `count` devices stand on `gpuCount` GPUs, device i on the i % gpuCount-th: the first are the GPUs as ever.
  mutable int count = 0, gpuCount = 0;
  mutable std::mutex mutex;
  GpuMemory memory;
  GpuGate gate;
  GpuStagingPool staging;
  std::vector<std::unique_ptr<GpuContext>> contexts; ///< kept until the driver goes: making one takes long
  std::vector<std::weak_ptr<GpuDevice>> devices;
};

class GpuDevice : public Device {
public:
  GpuDevice(GpuDriver &driver, const GpuContext &context) : owner(driver), gpu(context) {}

  std::string name() const override { return gpu.name; }
  std::string description() const override;
  Driver &driver() const override { return owner; }
  int ordinal() const override { return gpu.ordinal; }
  const Chip &chip() const override { return *gpu.chip; }
  MemoryInfo memoryInfo() const override;
  int computeUnits() const override;
  std::unique_ptr<Stream> createStream() override;
  std::unique_ptr<Stream> adoptStream(void *handle) override;
  std::shared_ptr<Event> createEvent() override;
  void finishFreeing() override { gpu.gate.collectAfterWaiting(); }

  const GpuContext &context() const { return gpu; }

protected:
  uint64_t allocateMemory(uint64_t sizeBytes, const std::string &name) override;
  uint64_t allocateCached(uint64_t sizeBytes, const std::string &name, Caching caching) override;
  void freeMemory(uint64_t address) noexcept override;
  void adoptMemory(uint64_t address, uint64_t sizeBytes, const std::string &name) override;
  void leaveMemory(uint64_t address, uint64_t sizeBytes) noexcept override;

private:
  GpuDriver &owner;
  const GpuContext &gpu;
};

/// `sm_90`, or `gfx942, gfx950`: the vendor's chips that Heddle has code for.
std::string listChips(Vendor vendor);
/// Null for one that Heddle has no code for.
const Chip *findChip(Vendor vendor, const std::string &name);

} // namespace heddle
