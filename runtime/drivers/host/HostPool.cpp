// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads are detached and the pool is never destroyed: a kernel that cannot be stopped must not stop the process from
// ending.
#include "runtime/drivers/host/HostPool.h"
#include "support/Knobs.h"
#include <algorithm>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <pthread.h>
#include <sched.h>
#include <semaphore>

namespace heddle {
namespace {

constexpr size_t workerStackBytes = size_t(8) << 20;
constexpr size_t partnerStackBytes = size_t(1) << 20; // touched pages only; 4096 of them must fit an address space
constexpr size_t parkedLimit = 256;

void *threadMain(void *argument) {
  std::unique_ptr<std::function<void()>> body(static_cast<std::function<void()> *>(argument));
  (*body)();
  return nullptr;
}

/// Starts a detached thread; returns 0 or the error number.
int startThread(size_t stackBytes, const char *name, std::function<void()> body) {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  ::pthread_attr_setstacksize(&attributes, stackBytes);
  auto *argument = new std::function<void()>([body = std::move(body), name] {
    ::pthread_setname_np(::pthread_self(), name);
    body();
  });
  pthread_t thread;
  int reason = ::pthread_create(&thread, &attributes, threadMain, argument);
  ::pthread_attr_destroy(&attributes);
  if (reason)
    delete argument;
  return reason;
}

/// Waking a sleeping thread takes longer than a small launch, so a thread yields for a while before it sleeps.
template <typename Condition>
bool spinFor(Condition condition) {
  auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(50);
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end)
      return false;
    ::sched_yield();
  }
  return true;
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

HostPool::HostPool(int count) : count(count) {
  std::lock_guard lock(mutex);
  for (int i = 0; i < count; ++i)
    startWorker(i);
}

void HostPool::startWorker(int index) {
  auto worker = std::make_shared<Worker>(Worker{index});
  int reason = startThread(workerStackBytes, "heddle-worker", [this, worker] { workerMain(worker); });
  if (reason && workers.empty())
    throw environmentError(fmt::format("cannot start a thread for host kernels: {}", std::strerror(reason)));
  if (!reason)
    workers.push_back(worker);
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
    work(*execution, thread, self->index);
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

void HostPool::start(const std::shared_ptr<HostExecution> &execution) {
  std::lock_guard lock(mutex);
  execution->listed = true;
  jobs.push_back(execution);
  jobCount.store(jobs.size(), std::memory_order_relaxed);
  if (execution->total() == 1)
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
    if (startThread(partnerStackBytes, "heddle-partner", [this, partner] { partnerMain(*partner); })) {
      delete partner;
      break;
    }
    partners.push_back(partner);
  }
  return partners;
}

void HostPool::startCooperative(const std::shared_ptr<HostExecution> &execution) {
  std::unique_lock lock(mutex);
  auto partners = gatherPartners(execution->total());
  execution->attachedThreads = int(partners.size());
  lock.unlock();
  bool complete = int64_t(partners.size()) == execution->total();
  for (size_t i = 0; i < partners.size(); ++i) {
    partners[i]->execution = execution;
    partners[i]->index = int(i);
    partners[i]->assigned.release();
  }
  if (!complete)
    execution->fail(environmentError(
        fmt::format("a cooperative launch of {} program instances needs as many threads, the system gave {}",
                    execution->total(), partners.size())));
  execution->gate.store(complete ? 1 : 2);
  execution->gate.notify_all();
}

int HostPool::abandon(const std::shared_ptr<HostExecution> &execution) {
  std::lock_guard lock(mutex);
  unlist(*execution);
  std::vector<int> indices;
  for (const auto &worker : workers)
    if (worker->current == execution.get()) {
      worker->abandoned = true;
      indices.push_back(worker->index);
    }
  std::erase_if(workers, [](const auto &worker) { return worker->abandoned; });
  for (int index : indices)
    startWorker(index);
  return execution->attachedThreads;
}

void HostPool::runToEnd(const std::shared_ptr<HostExecution> &execution, bool cooperative, double seconds) {
  if (cooperative)
    startCooperative(execution);
  else
    start(execution);
  auto waitFor = [&](double limit) {
    std::unique_lock lock(mutex);
    return execution->ended.wait_for(lock, std::chrono::duration<double>(limit),
                                     [&] { return !execution->listed && execution->attachedThreads == 0; });
  };
  spinFor([&] { return execution->over.load(std::memory_order_acquire); });
  if (!waitFor(seconds)) {
    execution->failByTimeout(seconds);
    {
      std::lock_guard lock(mutex);
      unlist(*execution); // perhaps no thread is free to see that it has been stopped
    }
    // Each thread needs one moment of a busy machine's processors to see the request, and there may be thousands.
    double grace = std::clamp(seconds / 4, 4.0, 10.0);
    if (!waitFor(grace))
      execution->noteAbandoned(grace, abandon(execution));
  }
  execution->finish();
}

} // namespace heddle
