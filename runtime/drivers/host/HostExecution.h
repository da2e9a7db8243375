// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One launch on the host while it runs: which instances are taken, running and finished, the hooks that kernels call,
// and the one error that comes of it.
#pragma once
#include "runtime/Launch.h"
#include "runtime/drivers/host/HostFaults.h"
#include "runtime/drivers/host/HostInstance.h"
#include "runtime/drivers/host/HostModule.h"
#include "support/Error.h"
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

namespace heddle {

class HostExecution {
public:
  /// `launch` has passed checkLaunch; `ticket` and `buffers` are of that moment. `slotCount` threads at most run it at
  /// a time.
  HostExecution(const Launch &launch, std::shared_ptr<HostModule> module, std::shared_ptr<HostMemory::Ticket> ticket,
                std::shared_ptr<const HostMap> buffers, int slotCount);

  int64_t total() const { return instanceCount; }

  /// Takes a run of instances for one thread, large at first and small towards the end; false when none is left.
  bool claim(int64_t &first, int64_t &last);
  /// Runs instances [first, last) in `slot`; returns when they are done or the launch has been stopped.
  void run(HostThread &thread, int slot, int64_t first, int64_t last);

  bool stopping() const { return abortFlag.load(std::memory_order_relaxed) != 0; }
  /// Keeps the error unless there is one already, and asks every instance to leave.
  void fail(Error error);
  /// fail with what is still running at this moment.
  void failByTimeout(double seconds);
  /// The error grows by the news that the kernel did not stop; its class becomes Environment. `lack` says which threads
  /// could not be replaced; empty when all could.
  void noteAbandoned(double graceSeconds, int threads, const std::string &lack);
  /// After the end: reports dropped lines of print and throws the error, if any.
  void finish();

  // Owned by the pool, under its mutex.
  int attachedThreads = 0;       ///< the stream's own among them
  bool listed = false;           ///< other threads may join
  bool ownerInside = false;      ///< the stream's thread runs instances
  bool abandoned = false;        ///< its threads are not waited for any more
  std::atomic<bool> over{false}; ///< no thread will touch it again; for a look without the mutex
  std::condition_variable ended;

  // Cooperative launches only: 0 until every thread is there, then 1 (go) or 2 (give up).
  std::atomic<uint32_t> gate{0};

private:
  struct alignas(64) Slot {
    std::atomic<int64_t> running{-1}; ///< linear index, or -1
    std::atomic<int64_t> finished{0};
  };

  static void stoppedHook(const HostProgram *program, int32_t site);
  static void assertHook(const HostProgram *program, int32_t site, int64_t element);
  static void printHook(const HostProgram *program, int32_t site, int32_t operand, const void *data);
  static void accessHook(const HostProgram *program, int32_t site, uint64_t address, int32_t sizeBytes,
                         int64_t element);

  void runInstances(HostInstance &instance, Slot &slot, int64_t first, int64_t last);
  bool accessHolds(HostInstance &instance, uint64_t address, int32_t sizeBytes);
  void print(const HostInstance &instance, int32_t site, int32_t operand, const void *data);
  void reportLeft(const HostInstance &instance);
  Error assertError(const HostInstance &instance) const;
  Error boundsError(const HostInstance &instance) const;
  Error faultError(const HostInstance &instance) const;
  std::string bufferText(const HostInstance &instance) const;
  std::array<int64_t, 3> position(int64_t linear) const;
  std::string where(int32_t site) const; ///< `kernels.py:3:1: ` or "kernel `k`: "
  const PackageSite &siteAt(int32_t site) const;
  const Package &package() const { return module->package(); }

  std::shared_ptr<HostModule> module;
  std::shared_ptr<HostMemory::Ticket> ticket; ///< keeps memory that the kernel may use
  std::shared_ptr<const HostMap> buffers;
  std::vector<uint64_t> arguments;
  int64_t instanceCount;
  bool cooperative;
  HostLaunch shared = {};
  HostFaultScope faults;
  std::atomic<uint32_t> abortFlag{0};
  alignas(64) std::atomic<int64_t> next{0};
  alignas(64) std::atomic<int64_t> printedLines{0};
  std::vector<Slot> slots;

  std::mutex mutex; ///< for what follows
  std::optional<Error> error;
  bool timedOut = false;
  std::vector<std::string> waitingPlaces; ///< where instances were when they noticed the timeout
};

} // namespace heddle
