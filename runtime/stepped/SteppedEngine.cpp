// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The queues, the order in which they go on, and the lock that host functions open.
#include "runtime/stepped/SteppedEngine.h"
#include "runtime/drivers/host/HostThreads.h"
#include "support/Error.h"
#include <algorithm>
#include <chrono>
#include <cstring>
#include <fmt/format.h>

namespace heddle {

SteppedEngine::~SteppedEngine() {
  Guard guard(mutex);
  changed.wait(guard, [&] { return !starting; });
}

SteppedEngine::Guard SteppedEngine::lock() {
  ++entering;
  Guard guard(mutex);
  --entering;
  return guard;
}

//===-- Queues ---------------------------------------------------------------------------------------------------===//

void SteppedEngine::open(SteppedQueue &queue) {
  Guard guard = lock();
  queues.push_back(&queue);
}

void SteppedEngine::close(SteppedQueue &queue) {
  Guard guard = lock();
  std::erase(queues, &queue);
  releaseRetired();
}

void SteppedEngine::push(const Guard &, SteppedQueue &queue, SteppedCommand command) {
  queue.commands.push_back(std::move(command));
  ++arrivals;
  changed.notify_all();
}

/// The queue's next command, if its turn has come.
bool SteppedEngine::advance(SteppedQueue &queue) {
  using Kind = SteppedCommand::Kind;
  if (queue.running || queue.runsHostFunction() || queue.commands.empty())
    return false;
  SteppedCommand &front = queue.commands.front();
  bool skipped = queue.error && front.kind != Kind::Record && front.kind != Kind::Wait;
  if (front.kind == Kind::HostFunction && !skipped)
    return false;
  if (front.kind == Kind::Wait && !front.ready())
    return false;
  SteppedCommand command = std::move(front);
  queue.commands.pop_front();
  try {
    if (command.before)
      command.before();
    if (!skipped && command.start)
      queue.running = command.start();
    else if (!skipped && command.body)
      command.body();
  } catch (...) {
    if (!queue.error)
      queue.error = std::current_exception();
  }
  spent.push_back(std::move(command));
  return true;
}

static bool isHostFunctionNext(const SteppedQueue *queue) {
  return !queue->running && !queue->runsHostFunction() && !queue->commands.empty() && !queue->error &&
         queue->commands.front().kind == SteppedCommand::Kind::HostFunction;
}

/// One whose turn has come, of whatever stream; the lock is open meanwhile, so that it may wait for other streams and
/// threads. That it runs on the waiting caller's thread is what makes equal calls equal runs: on another thread it
/// would run beside the turns, and a program of one thread would no longer know that no other thread can help when it
/// is stuck.
bool SteppedEngine::runHostFunction(Guard &guard) {
  for (size_t i = 0; i < queues.size(); ++i) {
    SteppedQueue &queue = *queues[i];
    if (!isHostFunctionNext(&queue))
      continue;
    SteppedCommand command = std::move(queue.commands.front());
    queue.commands.pop_front();
    queue.hostFunction = std::this_thread::get_id();
    std::exception_ptr thrown;
    try {
      if (command.before)
        command.before();
      guard.unlock();
      command.body();
    } catch (...) {
      thrown = std::current_exception();
    }
    if (guard.owns_lock())
      guard.unlock();
    command = {};
    guard.lock();
    queue.hostFunction = {};
    alone = false;
    if (thrown && !queue.error)
      queue.error = std::move(thrown);
    ++arrivals;
    changed.notify_all();
    return true;
  }
  return false;
}

/// For a caller who must not wait, and for whom the function may. One thread is starting at most: who asks again and
/// again does not make one each time.
bool SteppedEngine::startHostFunction() {
  if (starting || std::none_of(queues.begin(), queues.end(), isHostFunctionNext))
    return false;
  starting = true;
  int reason = startHostThread(hostThreadStackBytes, "heddle-hostfn", [this] {
    Guard guard = lock();
    starting = false;
    changed.notify_all();
    runHostFunction(guard);
  });
  if (!reason)
    return true;
  starting = false;
  throw environmentError(fmt::format("a host function needs 1 thread more than the {} of this process: {}",
                                     processThreadCount(), std::strerror(reason)),
                         {threadLimitNote(), "`synchronize` runs it without one"});
}

//===-- Turns ----------------------------------------------------------------------------------------------------===//

bool SteppedEngine::anyRunning() const {
  return std::any_of(queues.begin(), queues.end(), [](const SteppedQueue *queue) { return queue->running != nullptr; });
}

void SteppedEngine::endLaunches() {
  for (SteppedQueue *queue : queues) {
    if (!queue->running || !queue->running->isDone())
      continue;
    try {
      queue->running->finish();
    } catch (...) {
      if (!queue->error)
        queue->error = std::current_exception();
    }
    ended.push_back(std::move(queue->running));
    launchEnded(*queue);
    changed.notify_all();
  }
}

void SteppedEngine::turn(Guard &guard, bool blocks) {
  bool moved = false;
  for (SteppedQueue *queue : queues)
    while (advance(*queue))
      moved = true;
  if (moved) { // what is waited for may have happened
    changed.notify_all();
    stuckSince.reset();
    return;
  }
  bool goesOn = false;
  if (anyRunning()) {
    goesOn = runLaunches(guard);
    endLaunches();
    goesOn |= !anyRunning();
  }
  if (goesOn)
    stuckSince.reset();
  else
    waitForOthers(guard, blocks);
}

bool SteppedEngine::isAlone() {
  // Asking is slow; and who is alone stays so while it does nothing but turns.
  alone = alone || processThreadCount() == 1;
  return alone && std::none_of(queues.begin(), queues.end(), [](const SteppedQueue *queue) {
           return queue->runsHostFunction() && queue->hostFunction != std::this_thread::get_id();
         });
}

bool SteppedEngine::waitForArrival(Guard &guard, double seconds) {
  return changed.wait_for(guard, std::chrono::duration<double>(seconds),
                          [&, seen = arrivals] { return arrivals != seen; });
}

/// Nothing goes on by itself: another thread has to do something, for which it gets some time.
void SteppedEngine::waitForOthers(Guard &guard, bool blocks) {
  if (std::any_of(queues.begin(), queues.end(), isHostFunctionNext))
    return;
  if (!anyRunning()) {
    auto isForeign = [](const SteppedQueue *queue) {
      return queue->runsHostFunction() && queue->hostFunction != std::this_thread::get_id();
    };
    bool somebodyRuns = std::any_of(queues.begin(), queues.end(), isForeign);
    if (blocks && !somebodyRuns)
      throw inputError("a stream waits for an event that no stream will reach");
    if (blocks)
      waitForArrival(guard, 1);
    return;
  }
  if (!stuckSince)
    stuckSince = std::chrono::steady_clock::now();
  auto waited = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - *stuckSince).count(); };
  double left = secondsLeft(waited());
  if (left > 0 && (!blocks || (!isAlone() && waitForArrival(guard, left))))
    return;
  giveUp(waited());
  stuckSince.reset();
  endLaunches();
}

/// Lets go what commands and launches held, which may be anything, and threads in that want to call.
void SteppedEngine::dropSpent(Guard &guard) {
  if (spent.empty() && ended.empty() && entering == 0)
    return;
  auto commands = std::exchange(spent, {});
  auto launches = std::exchange(ended, {});
  guard.unlock();
  commands.clear();
  launches.clear();
  while (entering > 0)
    std::this_thread::yield();
  guard.lock();
}

void SteppedEngine::takeTurns(const std::function<bool()> &reached, bool blocks) {
  Guard guard = lock();
  alone = false;
  while (!reached()) {
    if (stepping) {
      changed.wait(guard);
      continue;
    }
    if (blocks ? runHostFunction(guard) : startHostFunction())
      continue;
    stepping = true;
    std::exception_ptr thrown;
    try {
      turn(guard, blocks);
    } catch (...) {
      thrown = std::current_exception();
    }
    stepping = false;
    if (thrown) {
      changed.notify_all();
      std::rethrow_exception(thrown);
    }
    dropSpent(guard);
  }
  changed.notify_all(); // who else waits goes on with the turns
}

void SteppedEngine::runUntil(const std::function<bool()> &reached) {
  takeTurns(reached, true);
}

void SteppedEngine::runOneTurn() {
  bool isFirst = true;
  takeTurns([&] { return stepping || !std::exchange(isFirst, false); }, false);
}

void SteppedEngine::synchronize(SteppedQueue &queue) {
  {
    Guard guard = lock();
    if (queue.hostFunction == std::this_thread::get_id())
      throw inputError("a host function waits for its own stream");
  }
  runUntil([&] { return queue.isIdle(); });
  Guard guard = lock();
  hostHasWaited(queue);
  releaseRetired();
  if (std::exception_ptr error = std::exchange(queue.error, nullptr))
    std::rethrow_exception(error);
}

//===-- Memory ---------------------------------------------------------------------------------------------------===//

void SteppedEngine::checkRange(const char *operation, uint64_t address, uint64_t sizeBytes) {
  std::lock_guard guard(memoryMutex);
  requireAllocation(live, operation, address, sizeBytes);
}

void SteppedEngine::keep(Allocation allocation) {
  std::lock_guard guard(memoryMutex);
  auto place = std::upper_bound(live.begin(), live.end(), allocation.address,
                                [](uint64_t address, const Allocation &each) { return address < each.address; });
  live.insert(place, std::move(allocation));
}

uint64_t SteppedEngine::free(uint64_t address) noexcept {
  uint64_t sizeBytes = retire(address);
  Guard guard = lock();
  releaseRetired();
  return sizeBytes;
}

uint64_t SteppedEngine::retire(uint64_t address) {
  std::lock_guard guard(memoryMutex);
  uint64_t sizeBytes = 0;
  std::erase_if(live, [&](const Allocation &allocation) {
    if (allocation.address == address)
      sizeBytes = allocation.sizeBytes;
    return allocation.address == address;
  });
  retired.push_back(address);
  return sizeBytes;
}

void SteppedEngine::releaseRetired() {
  if (!std::all_of(queues.begin(), queues.end(), [](SteppedQueue *queue) { return queue->isIdle(); }))
    return;
  becameIdle();
  std::vector<uint64_t> addresses;
  {
    std::lock_guard guard(memoryMutex);
    addresses.swap(retired);
  }
  for (uint64_t address : addresses)
    releaseMemory(address);
}

} // namespace heddle
