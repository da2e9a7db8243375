// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The threads that run host kernels: each stream's own, a fixed set that helps every launch, and for cooperative
// launches one thread per instance, parked between launches. One more thread watches the launches' deadlines.
#pragma once
#include "runtime/drivers/host/HostExecution.h"
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
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

  /// Threads that run one launch at most: the stream's own and all of the pool.
  int threadCount() const { return count; }

  /// Starts what the pool lacks. Throws Error{Environment} with both numbers when the system gives fewer threads.
  void requireThreads();

  /// Finds a new thread for the rest of a stream's work, and keeps the launch's error for it.
  using Replace = std::function<void(std::exception_ptr)>;

  /// Runs the launch to its end, on this thread `own` and on the shared ones, or on one thread per instance. Asks it to
  /// stop after `seconds`, and abandons the threads of one that does not within a grace period of seconds/4 (at least
  /// 4, at most 10). Throws the launch's error. False when this very thread had been abandoned when it came back:
  /// `replace` has been called, and the thread must end without touching what it left.
  bool runToEnd(const std::shared_ptr<HostExecution> &execution, bool cooperative, double seconds, HostThread &own,
                Replace replace);

private:
  using Clock = std::chrono::steady_clock;
  struct Worker {
    int slot;
    HostExecution *current = nullptr;
    bool abandoned = false;
  };
  struct Watched { ///< a running launch
    std::shared_ptr<HostExecution> execution;
    Replace replace;
    double seconds;
    Clock::time_point limit; ///< when to ask it to stop, then when to give it up
    bool asked = false;
  };
  struct Partner; ///< a thread for cooperative launches

  explicit HostPool(int count);
  int startMissing();
  int missingThreads() const;
  std::string lackText(int reason) const;
  void workerMain(const std::shared_ptr<Worker> &self);
  void work(HostExecution &execution, HostThread &thread, int slot);
  void partnerMain(Partner &self);
  void begin(const std::shared_ptr<HostExecution> &execution, bool cooperative, double seconds, Replace replace);
  bool startPartners(const std::shared_ptr<HostExecution> &execution);
  std::vector<Partner *> gatherPartners(int64_t wanted);
  void watchMain();
  void askToStop(Watched &watched);
  void abandon(Watched watched, std::unique_lock<std::mutex> &lock);
  void unlist(HostExecution &execution);
  void detach(HostExecution &execution);

  const int count;
  std::mutex mutex; ///< for what follows, and the pool's part of each execution
  std::condition_variable wake;
  std::vector<std::shared_ptr<Worker>> workers; ///< null where one is missing
  bool hasWatch = false;
  std::condition_variable watchWake;
  Clock::time_point watchSleepsUntil = Clock::time_point::max();
  std::vector<Watched> watched;
  std::vector<std::shared_ptr<HostExecution>> jobs; ///< launches with instances to take
  size_t turn = 0;                                  ///< whose job comes next
  std::atomic<size_t> jobCount{0};                  ///< jobs.size(), for a look without the mutex
  std::vector<Partner *> parked;
};

} // namespace heddle
