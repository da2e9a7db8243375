// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A stream is a queue and a thread, which runs the kernels itself, with the help of the pool.
#include "runtime/drivers/host/HostStream.h"
#include "runtime/Print.h"
#include "runtime/drivers/host/HostDriver.h"
#include "runtime/drivers/host/HostFaults.h"
#include "runtime/drivers/host/HostPool.h"
#include "runtime/drivers/host/HostThreads.h"
#include "support/Error.h"
#include "support/Knobs.h"
#include <atomic>
#include <cmath>
#include <cstring>
#include <deque>
#include <exception>
#include <fmt/format.h>
#include <thread>

namespace heddle {
namespace {

std::shared_ptr<HostEvent> hostEvent(const std::shared_ptr<Event> &event) {
  auto own = std::dynamic_pointer_cast<HostEvent>(event);
  if (!own)
    throw inputError(event ? "the event belongs to a device of another driver" : "there is no event");
  return own;
}

void *pointerTo(uint64_t address) {
  return reinterpret_cast<void *>(address);
}

} // namespace

bool HostEvent::query() const {
  std::lock_guard lock(mutex);
  return reached >= announced;
}

void HostEvent::synchronize() const {
  waitFor(latest());
}

uint64_t HostEvent::announce() {
  std::lock_guard lock(mutex);
  return ++announced;
}

void HostEvent::reach(uint64_t number) {
  std::lock_guard lock(mutex);
  if (number > reached) {
    reached = number;
    time = std::chrono::steady_clock::now();
  }
  changed.notify_all();
}

uint64_t HostEvent::latest() const {
  std::lock_guard lock(mutex);
  return announced;
}

void HostEvent::waitFor(uint64_t number) const {
  requireOwnThreads("host");
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return reached >= number; });
}

std::optional<HostEvent::Time> HostEvent::timeReached() const {
  std::lock_guard lock(mutex);
  return announced > 0 && reached >= announced ? std::optional<Time>(time) : std::nullopt;
}

double HostEvent::millisecondsSince(const Event &start) const {
  const auto *other = dynamic_cast<const HostEvent *>(&start);
  auto from = other ? other->timeReached() : std::nullopt, to = timeReached();
  if (!from || !to)
    throw inputError(
        fmt::format("elapsed time: the {} event was not recorded, or is not reached yet", from ? "end" : "start"),
        {"record both events, and synchronize with the later one"});
  return std::chrono::duration<double, std::milli>(*to - *from).count();
}

//===-- The queue ------------------------------------------------------------------------------------------------===//

struct HostStream::Queue : std::enable_shared_from_this<Queue> {
  explicit Queue(std::string device) : device(std::move(device)) {}

  void push(Command command);
  void startThread();
  void threadMain();
  bool serve();
  void noteState();
  void replaceThread(std::exception_ptr launchError);
  void giveUpCommands(const Error &reason);

  const std::string device;
  std::mutex mutex;
  std::condition_variable changed; ///< work came, all work is done, or the thread has ended
  std::deque<Command> commands;
  bool busy = false;
  std::atomic<bool> closing = false;
  bool hasThread = false;
  std::thread::id runner;
  std::exception_ptr error;

  // For looks without the mutex.
  std::atomic<bool> hasCommands = false; ///< that no thread has taken
  std::atomic<bool> isIdle = true;       ///< no commands, and not busy
};

/// Called with the mutex held. The thread comes first: a command without a thread would be waited for for ever.
void HostStream::Queue::push(Command command) {
  if (!hasThread)
    startThread();
  commands.push_back(std::move(command));
  noteState();
  changed.notify_all();
}

/// Called with the mutex held, after a change of `commands` or `busy`.
void HostStream::Queue::noteState() {
  hasCommands.store(!commands.empty(), std::memory_order_release);
  isIdle.store(commands.empty() && !busy, std::memory_order_release);
}

void HostStream::Queue::startThread() {
  if (int reason =
          startHostThread(hostThreadStackBytes, "heddle-stream", [self = shared_from_this()] { self->threadMain(); }))
    throw environmentError(fmt::format("a stream of {} needs 1 thread more than the {} of this process: {}", device,
                                       processThreadCount(), std::strerror(reason)),
                           {threadLimitNote()});
  hasThread = true;
}

void HostStream::Queue::threadMain() {
  if (!serve())
    return;
  std::lock_guard lock(mutex);
  runner = {};
  hasThread = false;
  changed.notify_all();
}

/// Runs commands until the stream closes; false when this thread has been replaced.
bool HostStream::Queue::serve() {
  HostThread own;
  std::optional<HostFaultScope> faults; // until the thread sleeps: installing the handlers takes a while
  std::unique_lock lock(mutex);
  runner = std::this_thread::get_id();
  for (;;) {
    if (commands.empty() && !closing) {
      lock.unlock();
      if (!spinFor([&] { return hasCommands.load(std::memory_order_acquire) || closing; }))
        faults.reset();
      lock.lock();
    }
    changed.wait(lock, [&] { return closing || !commands.empty(); });
    if (commands.empty())
      return true;
    Command command = std::move(commands.front());
    commands.pop_front();
    bool skipped = error && (command.kind == Kind::Work || command.kind == Kind::Launch);
    busy = true;
    noteState();
    lock.unlock();
    if (command.kind == Kind::Launch && !faults)
      faults.emplace();
    std::exception_ptr thrown;
    try {
      if (!skipped && !command.body(own))
        return false;
    } catch (...) {
      thrown = std::current_exception();
    }
    command = {}; // what it holds is let go before anyone is told that it is done
    lock.lock();
    busy = false;
    if (thrown && !error)
      error = std::move(thrown);
    thrown = nullptr;
    noteState();
    if (commands.empty())
      changed.notify_all();
  }
}

/// The thread is lost in a kernel: another one takes over what is left.
void HostStream::Queue::replaceThread(std::exception_ptr launchError) {
  std::lock_guard lock(mutex);
  if (!error)
    error = std::move(launchError);
  busy = false;
  hasThread = false;
  runner = {};
  try {
    if (!commands.empty())
      startThread();
  } catch (const Error &reason) {
    giveUpCommands(reason);
  }
  noteState();
  changed.notify_all();
}

/// What is left would be skipped after the error anyway, but for records, which others wait for.
void HostStream::Queue::giveUpCommands(const Error &reason) {
  try {
    std::rethrow_exception(error);
  } catch (Error &first) { // the kept one
    first.notes.push_back(reason.what());
  } catch (...) {
  }
  HostThread none;
  for (Command &command : commands)
    if (command.kind == Kind::Record)
      command.body(none);
  commands.clear();
}

//===-- The stream -----------------------------------------------------------------------------------------------===//

HostStream::HostStream(std::shared_ptr<HostDevice> theDevice)
    : RecordingStream(theDevice->name()), device(std::move(theDevice)), queue(std::make_shared<Queue>(device->name())) {
}

HostStream::~HostStream() {
  if (lostHostThreads()) // nothing is left to wait for
    return;
  std::unique_lock lock(queue->mutex);
  queue->closing = true;
  queue->changed.notify_all();
  // A host function or a print sink that drops the stream is part of the work: the queue lives on until it is done.
  if (queue->runner == std::this_thread::get_id() || isInsidePrintSink())
    return;
  queue->changed.wait(lock, [&] { return !queue->hasThread; });
}

void HostStream::enqueue(std::function<void()> body, Kind kind) {
  requireOwnThreads(queue->device);
  auto ticket = std::make_shared<HostMemory::Ticket>();
  std::lock_guard lock(queue->mutex);
  queue->push(Command{[body = std::move(body)](HostThread &) {
                        body();
                        return true;
                      },
                      kind, std::move(ticket)});
}

void HostStream::synchronize() {
  requireOwnThreads(queue->device);
  requireNoCapture();
  std::unique_lock lock(queue->mutex);
  if (queue->runner == std::this_thread::get_id())
    throw inputError("a host function waits for its own stream");
  if (!queue->isIdle) {
    lock.unlock();
    spinFor([&] { return queue->isIdle.load(std::memory_order_acquire); });
    lock.lock();
  }
  queue->changed.wait(lock, [&] { return queue->commands.empty() && !queue->busy; });
  if (auto thrown = std::exchange(queue->error, nullptr))
    std::rethrow_exception(thrown);
}

void HostStream::copyToDevice(uint64_t destination, const void *source, uint64_t sizeBytes) {
  HostMemory::shared().checkRange("copy to the device", destination, sizeBytes);
  if (recordCall([=](Stream &stream) { stream.copyToDevice(destination, source, sizeBytes); }))
    return;
  enqueue([=] { std::memcpy(pointerTo(destination), source, sizeBytes); });
}

void HostStream::copyToHost(void *destination, uint64_t source, uint64_t sizeBytes) {
  HostMemory::shared().checkRange("copy to the host", source, sizeBytes);
  if (recordCall([=](Stream &stream) { stream.copyToHost(destination, source, sizeBytes); }))
    return;
  enqueue([=] { std::memcpy(destination, pointerTo(source), sizeBytes); });
}

void HostStream::copy(uint64_t destination, uint64_t source, uint64_t sizeBytes) {
  HostMemory::shared().checkRange("copy, destination", destination, sizeBytes);
  HostMemory::shared().checkRange("copy, source", source, sizeBytes);
  if (recordCall([=](Stream &stream) { stream.copy(destination, source, sizeBytes); }))
    return;
  enqueue([=] { std::memmove(pointerTo(destination), pointerTo(source), sizeBytes); });
}

void HostStream::fill(uint64_t destination, uint8_t value, uint64_t sizeBytes) {
  HostMemory::shared().checkRange("fill", destination, sizeBytes);
  if (recordCall([=](Stream &stream) { stream.fill(destination, value, sizeBytes); }))
    return;
  enqueue([=] { std::memset(pointerTo(destination), value, sizeBytes); });
}

void HostStream::launch(const Launch &launch) {
  requireOwnThreads(queue->device);
  checkLaunch(launch);
  auto module = std::dynamic_pointer_cast<HostModule>(launch.kernel.module);
  if (!module)
    throw inputError(
        fmt::format("kernel `{}` was loaded on a device of another driver", launch.kernel.package().kernel));
  int64_t instances = launch.grid[0] * launch.grid[1] * launch.grid[2];
  if (launch.cooperative && instances > cooperativeLimit)
    throw inputError(
        fmt::format("kernel `{}`: a cooperative launch of {} program instances; the host runs at most {} at once",
                    launch.kernel.package().kernel, instances, cooperativeLimit));
  double seconds = launch.timeoutSeconds ? launch.timeoutSeconds : launchTimeoutSeconds();
  if (recordCall([launch](Stream &stream) { stream.launch(launch); }))
    return;
  HostPool &pool = HostPool::shared();
  pool.requireThreads();
  auto ticket = std::make_shared<HostMemory::Ticket>();
  auto buffers = HostMemory::shared().snapshot(); // the caller may free some of them before the launch's turn comes
  int slots = launch.cooperative ? int(instances) : pool.threadCount();
  auto body = [=, &pool, queue = queue](HostThread &own) {
    auto execution = std::make_shared<HostExecution>(launch, module, ticket, buffers, slots);
    return pool.runToEnd(execution, launch.cooperative, seconds, own,
                         [queue](std::exception_ptr error) { queue->replaceThread(std::move(error)); });
  };
  std::lock_guard lock(queue->mutex);
  queue->push(Command{std::move(body), Kind::Launch, ticket});
}

void HostStream::record(const std::shared_ptr<Event> &event) {
  requireOwnThreads(queue->device);
  auto own = hostEvent(event);
  if (recordCall([event](Stream &stream) { stream.record(event); }))
    return;
  auto ticket = std::make_shared<HostMemory::Ticket>();
  auto number = std::make_shared<uint64_t>();
  // Announced under the stream's mutex: two records of one event in one stream keep their numbers' order.
  std::lock_guard lock(queue->mutex);
  queue->push(Command{[own, number](HostThread &) {
                        own->reach(*number);
                        return true;
                      },
                      Kind::Record, std::move(ticket)});
  *number = own->announce(); // the stream's thread needs the mutex to take the command
}

void HostStream::wait(const std::shared_ptr<Event> &event) {
  auto own = hostEvent(event);
  if (recordCall([event](Stream &stream) { stream.wait(event); }))
    return;
  uint64_t number = own->latest();
  enqueue([own, number] { own->waitFor(number); }, Kind::Wait);
}

void HostStream::hostFunction(std::function<void()> function) {
  if (!recordCall([=](Stream &stream) { stream.hostFunction(function); }))
    enqueue(std::move(function));
}

} // namespace heddle
