// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads are detached and the pool is never destroyed: a kernel that cannot be stopped must not stop the process from
// ending.
#include "runtime/drivers/host/HostPool.h"
#include "runtime/drivers/host/HostThreads.h"
#include "support/Knobs.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <semaphore>

namespace heddle {
namespace {

constexpr size_t partnerStackBytes = size_t(1) << 20; // touched pages only; 4096 of them must fit an address space
constexpr size_t parkedLimit = 256;

/// How long a launch may take to see that it has been asked to stop: each thread needs one moment of a busy machine's
/// processors, and there may be thousands.
double graceOf(double seconds) {
  return std::clamp(seconds / 4, 4.0, 10.0);
}

std::chrono::steady_clock::duration durationOf(double seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
}

} // namespace

struct HostPool::Partner {
  std::binary_semaphore assigned{0};
  std::shared_ptr<HostExecution> execution; ///< null asks the thread to end
  int index = 0;
};

HostPool &HostPool::shared() {
  static auto *pool = new HostPool(hostThreads());
  return *pool;
}

HostPool::HostPool(int count) : count(count), workers(size_t(count - 1)) {}

/// Called with the mutex held. Returns 0, or why a thread could not start.
int HostPool::startMissing() {
  if (!hasWatch) {
    if (int reason = startHostThread(hostThreadStackBytes, "heddle-watch", [this] { watchMain(); }))
      return reason;
    hasWatch = true;
  }
  for (size_t i = 0; i < workers.size(); ++i) {
    if (workers[i])
      continue;
    auto worker = std::make_shared<Worker>(Worker{int(i) + 1}); // slot 0 is the stream's own thread
    if (int reason = startHostThread(hostThreadStackBytes, "heddle-worker", [this, worker] { workerMain(worker); }))
      return reason;
    workers[i] = worker;
  }
  return 0;
}

int HostPool::missingThreads() const {
  return int(std::count(workers.begin(), workers.end(), nullptr)) + !hasWatch;
}

std::string HostPool::lackText(int reason) const {
  return fmt::format("the host device needs {} threads besides those of its streams, the system gave {}: {}", count,
                     count - missingThreads(), std::strerror(reason));
}

void HostPool::requireThreads() {
  std::lock_guard lock(mutex);
  if (int reason = startMissing())
    throw environmentError(lackText(reason), {threadLimitNote()});
}

void HostPool::workerMain(const std::shared_ptr<Worker> &self) {
  HostThread thread;
  std::unique_lock lock(mutex);
  while (!self->abandoned) {
    if (jobs.empty()) {
      lock.unlock();
      bool came = spinFor([&] { return jobCount.load(std::memory_order_relaxed) > 0; });
      lock.lock();
      if (!came && jobs.empty() && !self->abandoned)
        wake.wait(lock);
      continue;
    }
    std::shared_ptr<HostExecution> execution = jobs[turn++ % jobs.size()];
    ++execution->attachedThreads;
    self->current = execution.get();
    lock.unlock();
    work(*execution, thread, self->slot);
    lock.lock();
    self->current = nullptr;
    detach(*execution);
    lock.unlock(); // the last owner of an execution must not be let go under the mutex
    execution.reset();
    lock.lock();
  }
}

/// Takes instances until none is left, or until another launch waits for its turn.
void HostPool::work(HostExecution &execution, HostThread &thread, int slot) {
  int64_t first, last;
  while (execution.claim(first, last)) {
    execution.run(thread, slot, first, last);
    if (jobCount.load(std::memory_order_relaxed) > 1)
      return;
  }
  std::lock_guard lock(mutex);
  unlist(execution);
}

/// Called with the mutex held, when a thread is done with the launch.
void HostPool::detach(HostExecution &execution) {
  if (--execution.attachedThreads > 0 || execution.listed)
    return;
  execution.over.store(true, std::memory_order_release);
  execution.ended.notify_all();
}

void HostPool::unlist(HostExecution &execution) {
  if (!execution.listed)
    return;
  execution.listed = false;
  std::erase_if(jobs, [&](const auto &each) { return each.get() == &execution; });
  jobCount.store(jobs.size(), std::memory_order_relaxed);
}

/// Puts the launch before the watch, and before the other threads when it has work for them.
void HostPool::begin(const std::shared_ptr<HostExecution> &execution, bool cooperative, double seconds,
                     Replace replace) {
  int64_t helpers = cooperative ? 0 : std::min<int64_t>(execution->total() - 1, int64_t(workers.size()));
  std::lock_guard lock(mutex);
  execution->attachedThreads = 1;
  execution->ownerInside = true;
  watched.push_back({execution, std::move(replace), seconds, Clock::now() + durationOf(seconds)});
  if (watched.back().limit < watchSleepsUntil)
    watchWake.notify_one();
  if (helpers == 0)
    return;
  execution->listed = true;
  jobs.push_back(execution);
  jobCount.store(jobs.size(), std::memory_order_relaxed);
  if (helpers < int64_t(workers.size()))
    for (; helpers > 0; --helpers)
      wake.notify_one();
  else
    wake.notify_all();
}

void HostPool::partnerMain(Partner &self) {
  {
    HostThread thread;
    for (;;) {
      self.assigned.acquire();
      std::shared_ptr<HostExecution> execution = std::move(self.execution);
      if (!execution)
        break;
      execution->gate.wait(0);
      if (execution->gate.load() == 1)
        execution->run(thread, self.index, self.index, self.index + 1);
      std::unique_lock lock(mutex);
      detach(*execution);
      bool stays = parked.size() < parkedLimit;
      if (stays)
        parked.push_back(&self);
      lock.unlock();
      if (!stays)
        break;
    }
  }
  delete &self;
}

/// Called with the mutex held. Fewer than wanted when the system gives no more threads.
std::vector<HostPool::Partner *> HostPool::gatherPartners(int64_t wanted) {
  std::vector<Partner *> partners;
  while (int64_t(partners.size()) < wanted && !parked.empty()) {
    partners.push_back(parked.back());
    parked.pop_back();
  }
  while (int64_t(partners.size()) < wanted) {
    auto *partner = new Partner;
    if (startHostThread(partnerStackBytes, "heddle-partner", [this, partner] { partnerMain(*partner); })) {
      delete partner;
      break;
    }
    partners.push_back(partner);
  }
  return partners;
}

/// A thread for every instance but the first, which is the stream's. False when the system does not give them.
bool HostPool::startPartners(const std::shared_ptr<HostExecution> &execution) {
  int64_t wanted = execution->total() - 1;
  std::unique_lock lock(mutex);
  auto partners = gatherPartners(wanted);
  execution->attachedThreads += int(partners.size());
  lock.unlock();
  bool complete = int64_t(partners.size()) == wanted;
  for (size_t i = 0; i < partners.size(); ++i) {
    partners[i]->execution = execution;
    partners[i]->index = int(i) + 1;
    partners[i]->assigned.release();
  }
  if (!complete)
    execution->fail(environmentError(
        fmt::format("a cooperative launch of {} program instances needs as many threads, the system gave {}",
                    execution->total(), partners.size() + 1),
        {"launch fewer instances, end other processes, or raise the limit on threads (`ulimit -u`, or the "
         "container's)"}));
  execution->gate.store(complete ? 1 : 2);
  execution->gate.notify_all();
  return complete;
}

bool HostPool::runToEnd(const std::shared_ptr<HostExecution> &execution, bool cooperative, double seconds,
                        HostThread &own, Replace replace) {
  begin(execution, cooperative, seconds, std::move(replace));
  int64_t first, last;
  if (cooperative) {
    if (startPartners(execution))
      execution->run(own, 0, 0, 1);
  } else {
    while (execution->claim(first, last))
      execution->run(own, 0, first, last);
  }
  std::unique_lock lock(mutex);
  unlist(*execution);
  bool lost = execution->abandoned;
  execution->ownerInside = false;
  detach(*execution);
  if (lost)
    return false;
  if (execution->attachedThreads > 0) {
    lock.unlock();
    spinFor([&] { return execution->over.load(std::memory_order_acquire); });
    lock.lock();
    execution->ended.wait(lock, [&] { return execution->attachedThreads == 0 || execution->abandoned; });
  }
  std::erase_if(watched, [&](const Watched &each) { return each.execution == execution; });
  lock.unlock();
  execution->finish();
  return true;
}

//===-- Deadlines ------------------------------------------------------------------------------------------------===//

void HostPool::watchMain() {
  std::unique_lock lock(mutex);
  for (;;) {
    auto next = std::min_element(watched.begin(), watched.end(),
                                 [](const Watched &a, const Watched &b) { return a.limit < b.limit; });
    if (next == watched.end()) {
      watchSleepsUntil = Clock::time_point::max();
      watchWake.wait(lock);
    } else if (next->limit > Clock::now()) {
      // Launches that begin meanwhile mostly have later limits and need not wake this thread.
      watchSleepsUntil = next->limit;
      watchWake.wait_until(lock, next->limit);
    } else if (!next->asked) {
      askToStop(*next);
    } else {
      Watched given = std::move(*next);
      watched.erase(next);
      abandon(std::move(given), lock);
    }
  }
}

/// Called with the mutex held.
void HostPool::askToStop(Watched &watched) {
  watched.execution->failByTimeout(watched.seconds);
  unlist(*watched.execution); // perhaps no thread is free to see that it has been stopped
  watched.asked = true;
  watched.limit = Clock::now() + durationOf(graceOf(watched.seconds));
}

/// Called with the mutex held, which is free while the stream is told.
void HostPool::abandon(Watched watched, std::unique_lock<std::mutex> &lock) {
  HostExecution &execution = *watched.execution;
  unlist(execution);
  for (auto &worker : workers)
    if (worker && worker->current == &execution) {
      worker->abandoned = true;
      worker = nullptr;
    }
  int reason = startMissing();
  execution.noteAbandoned(graceOf(watched.seconds), execution.attachedThreads, reason ? lackText(reason) : "");
  execution.abandoned = true;
  if (!execution.ownerInside) {
    execution.ended.notify_all();
    return;
  }
  lock.unlock();
  std::exception_ptr error;
  try {
    execution.finish();
  } catch (...) {
    error = std::current_exception();
  }
  watched.replace(error);
  watched = {}; // not under the mutex
  lock.lock();
}

} // namespace heddle
