// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The threads that run host kernels: a fixed set that shares the instances of every launch, and for cooperative
// launches one thread per instance, parked between launches.
#pragma once
#include "runtime/drivers/host/HostExecution.h"
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace heddle {

/// Instances that a cooperative launch may have.
inline constexpr int64_t cooperativeLimit = 4096;

class HostPool {
public:
  /// Shared by all host devices; its size is HEDDLE_HOST_THREADS at the first call.
  static HostPool &shared();

  int threadCount() const { return count; }

  /// Runs the launch to its end on the shared threads, or one thread per instance. Asks it to stop after `seconds`, and
  /// abandons the threads of one that does not within a grace period of seconds/4 (at least 4, at most 10). Throws the
  /// launch's error.
  void runToEnd(const std::shared_ptr<HostExecution> &execution, bool cooperative, double seconds);

private:
  struct Worker {
    int index;
    HostExecution *current = nullptr;
    bool abandoned = false;
  };
  struct Partner; ///< a thread for cooperative launches

  explicit HostPool(int count);
  void startWorker(int index);
  void workerMain(const std::shared_ptr<Worker> &self);
  void work(HostExecution &execution, HostThread &thread, int slot);
  void partnerMain(Partner &self);
  void start(const std::shared_ptr<HostExecution> &execution);
  void startCooperative(const std::shared_ptr<HostExecution> &execution);
  std::vector<Partner *> gatherPartners(int64_t wanted);
  int abandon(const std::shared_ptr<HostExecution> &execution);
  void unlist(HostExecution &execution);
  void detach(HostExecution &execution);

  const int count;
  std::mutex mutex; ///< for what follows, and the pool's part of each execution
  std::condition_variable wake;
  std::vector<std::shared_ptr<Worker>> workers;
  std::vector<std::shared_ptr<HostExecution>> jobs; ///< launches with instances to take
  size_t turn = 0;                                  ///< whose job comes next
  std::atomic<size_t> jobCount{0};                  ///< jobs.size(), for a look without the mutex
  std::vector<Partner *> parked;
};

} // namespace heddle
