// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Devices and streams of the runtime's interface over the engine of their chip.
#include "runtime/drivers/simulated/SimulatedDriver.h"
#include "runtime/Driver.h"
#include "runtime/drivers/simulated/SimulatedModule.h"
#include "runtime/drivers/simulated/SimulationSettings.h"
#include "runtime/stepped/SteppedStream.h"
#include "support/Error.h"
#include "support/Knobs.h"
#include "support/SystemMemory.h"
#include <array>
#include <fmt/format.h>

namespace heddle {
namespace {

class SimulatedStream : public SteppedStream {
public:
  SimulatedStream(std::shared_ptr<Device> device, SimulatedEngine &engine)
      : SteppedStream(std::move(device), engine, std::make_unique<SteppedQueue>()), engine(engine) {}

protected:
  Start prepare(const Launch &launch) override {
    SimulatedRequest request = check(launch);
    return [&engine = engine, request = std::move(request)] { return engine.begin(request); };
  }

private:
  SimulatedRequest check(const Launch &launch) const {
    const std::string &kernel = launch.kernel.package().kernel;
    auto module = std::dynamic_pointer_cast<SimulatedModule>(launch.kernel.module);
    if (!module)
      throw inputError(fmt::format("kernel `{}` was loaded on a device of another driver", kernel));
    if (&module->engine != &engine || module->ordinal != unsigned(device->ordinal()))
      throw inputError(
          fmt::format("kernel `{}` was loaded on {}, and the stream is of {}", kernel, module->device, device->name()));
    SimulatedRequest request;
    request.geometry = module->geometryOf(launch);
    if (int64_t groups = int64_t(request.geometry.groupCount()), most = module->mostCooperative();
        launch.cooperative && groups > most)
      throw inputError(fmt::format("kernel `{}`: a cooperative launch of {} workgroups; {} runs at most {} at once",
                                   kernel, groups, device->name(), most));
    (void)simulationOptions(); // what is wrong with the environment shows here
    request.arguments = module->segmentOf(launch);
    request.ordinal = unsigned(device->ordinal());
    request.cooperative = launch.cooperative;
    request.limitSeconds = launch.timeoutSeconds;
    request.waitSeconds = launchTimeoutSeconds();
    request.text = fmt::format("{}, grid {} x {} x {}, {} work-items each", device->name(), launch.grid[0],
                               launch.grid[1], launch.grid[2], request.geometry.itemsPerGroup());
    request.module = std::move(module);
    return request;
  }

  SimulatedEngine &engine;
};

class SimulatedDevice : public Device {
public:
  SimulatedDevice(Driver &driver, SimulatedEngine &engine, int ordinal)
      : parent(driver), engine(engine), number(ordinal) {
    engine.openDevice(unsigned(ordinal));
  }

  std::string name() const override { return fmt::format("{}:{}", parent.name(), number); }
  std::string description() const override {
    return fmt::format("simulated {}, {} compute units, {} MiB of memory", engine.chip.description,
                       engine.chip.computeUnits, engine.chip.memoryBytes >> 20);
  }
  Driver &driver() const override { return parent; }
  int ordinal() const override { return number; }
  const Chip &chip() const override { return engine.chip; }
  MemoryInfo memoryInfo() const override {
    std::lock_guard guard(mutex);
    return {uint64_t(engine.chip.memoryBytes), freeBytes()};
  }
  std::unique_ptr<Stream> createStream() override {
    return std::make_unique<SimulatedStream>(shared_from_this(), engine);
  }
  std::shared_ptr<Event> createEvent() override { return std::make_shared<SteppedEvent>(engine); }
  std::shared_ptr<Module> loadModule(const Package &package) override {
    return SimulatedModule::load(engine, name(), unsigned(number), package);
  }

protected:
  uint64_t allocateMemory(uint64_t sizeBytes, const std::string &bufferName) override {
    return allocateCached(sizeBytes, bufferName, Caching::Normal);
  }
  uint64_t allocateCached(uint64_t sizeBytes, const std::string &bufferName, Caching caching) override {
    std::lock_guard guard(mutex);
    if (sizeBytes > freeBytes())
      throw outOfMemory(
          name(), bufferName, sizeBytes, freeBytes(),
          {fmt::format("the device has {} bytes in all, as far as this machine has them", engine.chip.memoryBytes)},
          kindOfMemory(caching));
    uint64_t address = engine.allocate(name(), unsigned(number), sizeBytes, bufferName, caching);
    usedBytes += sizeBytes;
    return address;
  }
  void freeMemory(uint64_t address) noexcept override {
    uint64_t sizeBytes = engine.free(address);
    std::lock_guard guard(mutex);
    usedBytes -= sizeBytes;
  }

private:
  uint64_t freeBytes() const { return std::min(uint64_t(engine.chip.memoryBytes) - usedBytes, availableMemoryBytes()); }

  Driver &parent;
  SimulatedEngine &engine;
  const int number;
  mutable std::mutex mutex;
  uint64_t usedBytes = 0;
};

class SimulatedDriver : public Driver {
public:
  explicit SimulatedDriver(const Chip &chip) : engine(chip) {}

  std::string name() const override { return "sim:" + engine.chip.name; }
  int deviceCount() const override { return simulatedDeviceCount; }
  bool isVirtual() const override { return true; }
  bool canAccessPeer(int, int) const override { return true; }
  PeerLink linkBetween(int, int) const override { return {"xGMI", 1}; }
  bool countTraffic(bool on) override {
    engine.countTraffic(on);
    return true;
  }
  std::vector<PeerTraffic> traffic() const override;
  std::shared_ptr<Device> open(int ordinal) override {
    std::lock_guard guard(mutex);
    std::weak_ptr<Device> &known = devices.at(size_t(ordinal));
    std::shared_ptr<Device> device = known.lock();
    if (!device)
      known = device = std::make_shared<SimulatedDevice>(*this, engine, ordinal);
    return device;
  }

private:
  mutable SimulatedEngine engine;
  std::mutex mutex;
  std::array<std::weak_ptr<Device>, simulatedDeviceCount> devices;
};

std::vector<PeerTraffic> SimulatedDriver::traffic() const {
  std::vector<PeerTraffic> all;
  std::optional<simulator::LinkTraffic> links = engine.traffic();
  if (!links)
    return all;
  for (const auto &[pair, link] : links->links()) {
    all.push_back({int(pair.first), int(pair.second), link.bytes, link.requests, link.windows});
    all.back().windows.resize(links->windowCount());
  }
  return all;
}

} // namespace

std::unique_ptr<Driver> makeSimulatedDriver(const Chip &chip) {
  return std::make_unique<SimulatedDriver>(chip);
}

} // namespace heddle
