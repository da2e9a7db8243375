// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Devices of the runtime's interface over the one engine.
#include "tests/threads_driver/ThreadsDriver.h"
#include "support/Error.h"
#include "tests/threads_driver/ThreadsStream.h"
#include <array>
#include <fmt/format.h>

using namespace heddle;
using namespace heddle::threads;

namespace {

class ThreadsDevice : public Device {
public:
  ThreadsDevice(Driver &driver, int number) : parent(driver), number(number) {}

  std::string name() const override { return fmt::format("threads:{}", number); }
  std::string description() const override { return "sm_90 in the thread interpreter"; }
  Driver &driver() const override { return parent; }
  int ordinal() const override { return number; }
  const Chip &chip() const override { return threadsChip(); }
  MemoryInfo memoryInfo() const override { return {uint64_t(1) << 32, uint64_t(1) << 32}; }
  std::unique_ptr<Stream> createStream() override { return std::make_unique<ThreadsStream>(shared_from_this()); }
  std::shared_ptr<Event> createEvent() override { return std::make_shared<ThreadsEvent>(Engine::shared()); }

  std::shared_ptr<heddle::Module> loadModule(const Package &package) override {
    if (package.target != threadsChip().name)
      throw inputError(fmt::format("kernel `{}` was compiled for target {}, the device is {}", package.kernel,
                                   package.target, threadsChip().name));
    if (!package.sites.empty())
      throw inputError(
          fmt::format("kernel `{}` prints or asserts, and a threads device has no record for that", package.kernel));
    std::shared_ptr<const Program> program = Engine::shared().load(package);
    size_t wanted = package.arguments.size() + 1 + package.tensorMaps.size(); // with the launch's record
    if (program->tensorMaps != package.tensorMaps.size() || program->parameters.size() != wanted)
      throw inputError(fmt::format(
          "kernel `{}`: its code has {} parameters, {} of them tensor maps; its description says "
          "{} and {}",
          package.kernel, program->parameters.size(), program->tensorMaps, wanted, package.tensorMaps.size()));
    return std::make_shared<ThreadsModule>(package, std::move(program));
  }

protected:
  uint64_t allocateMemory(uint64_t sizeBytes, const std::string &bufferName) override {
    return Engine::shared().allocate(sizeBytes, bufferName, name());
  }
  void freeMemory(uint64_t address) noexcept override { (void)Engine::shared().free(address); }

private:
  Driver &parent;
  const int number;
};

class ThreadsDriver : public Driver {
public:
  std::string name() const override { return "threads"; }
  int deviceCount() const override { return threads::deviceCount; }
  bool canAccessPeer(int, int) const override { return true; }
  std::shared_ptr<Device> open(int ordinal) override {
    std::lock_guard guard(mutex);
    std::weak_ptr<Device> &known = devices.at(size_t(ordinal));
    std::shared_ptr<Device> device = known.lock();
    if (!device)
      known = device = std::make_shared<ThreadsDevice>(*this, ordinal);
    return device;
  }

private:
  std::mutex mutex;
  std::array<std::weak_ptr<Device>, threads::deviceCount> devices;
};

} // namespace

const Chip &threads::threadsChip() {
  static const Chip chip = [] {
    Chip made = sm90Chip;
    made.name = "threads";
    made.takesThreadCode = true;
    return made;
  }();
  return chip;
}

void threads::useThreadsDriver() {
  static const bool once = [] {
    static ThreadsDriver driver;
    addDriver(driver);
    return true;
  }();
  (void)once;
}

void threads::setSchedule(Policy policy, uint64_t seed) {
  Engine::shared().setSchedule(policy, seed);
}

void threads::setCodeChange(CodeChange change) {
  Engine::shared().setCodeChange(std::move(change));
}

std::vector<Finding> threads::takeFindings() {
  return Engine::shared().takeFindings();
}
