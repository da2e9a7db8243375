// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A stream is a queue and a thread; the thread also keeps watch over the launch that it runs.
#include "runtime/drivers/host/HostStream.h"
#include "runtime/drivers/host/HostDriver.h"
#include "runtime/drivers/host/HostPool.h"
#include "support/Error.h"
#include "support/Knobs.h"
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <pthread.h>
#include <system_error>

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

double timeoutOf(const Launch &launch) {
  if (launch.timeoutSeconds == 0)
    return launchTimeoutSeconds();
  if (!(launch.timeoutSeconds > 0 && launch.timeoutSeconds <= 1e6))
    throw inputError(fmt::format("kernel `{}`: a time limit of {} s: it must be above 0 and at most 1000000",
                                 launch.kernel.package().kernel, launch.timeoutSeconds));
  return launch.timeoutSeconds;
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

HostStream::HostStream(std::shared_ptr<HostDevice> device) : device(std::move(device)) {}

HostStream::~HostStream() {
  {
    std::lock_guard lock(mutex);
    closing = true;
  }
  changed.notify_all();
  if (thread.joinable())
    thread.join();
}

void HostStream::enqueue(std::function<void()> body, bool always) {
  enqueue(Command{std::move(body), always, std::make_shared<HostMemory::Ticket>()});
}

void HostStream::enqueue(Command command) {
  std::lock_guard lock(mutex);
  push(std::move(command));
}

/// Called with the mutex held. The thread comes first: a command without a thread would be waited for for ever.
void HostStream::push(Command command) {
  if (!thread.joinable())
    try {
      thread = std::thread([this] { threadMain(); });
    } catch (const std::system_error &error) {
      throw environmentError(fmt::format("cannot start a thread for a stream of {}: {}", device->name(), error.what()));
    }
  commands.push_back(std::move(command));
  changed.notify_all();
}

void HostStream::threadMain() {
  ::pthread_setname_np(::pthread_self(), "heddle-stream");
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return closing || !commands.empty(); });
    if (commands.empty())
      return;
    Command command = std::move(commands.front());
    commands.pop_front();
    bool skipped = error && !command.always;
    busy = true;
    lock.unlock();
    std::exception_ptr thrown;
    try {
      if (!skipped)
        command.body();
    } catch (...) {
      thrown = std::current_exception();
    }
    command = {}; // what it holds is let go before anyone is told that it is done
    lock.lock();
    busy = false;
    if (thrown && !error)
      error = std::move(thrown);
    thrown = nullptr;
    if (commands.empty())
      changed.notify_all();
  }
}

void HostStream::synchronize() {
  std::unique_lock lock(mutex);
  if (thread.get_id() == std::this_thread::get_id())
    throw inputError("a host function waits for its own stream");
  changed.wait(lock, [&] { return commands.empty() && !busy; });
  if (auto thrown = std::exchange(error, nullptr))
    std::rethrow_exception(thrown);
}

void HostStream::copyToDevice(uint64_t destination, const void *source, uint64_t sizeBytes) {
  HostMemory::shared().checkRange("copy to the device", destination, sizeBytes);
  enqueue([=] { std::memcpy(pointerTo(destination), source, sizeBytes); });
}

void HostStream::copyToHost(void *destination, uint64_t source, uint64_t sizeBytes) {
  HostMemory::shared().checkRange("copy to the host", source, sizeBytes);
  enqueue([=] { std::memcpy(destination, pointerTo(source), sizeBytes); });
}

void HostStream::copy(uint64_t destination, uint64_t source, uint64_t sizeBytes) {
  HostMemory::shared().checkRange("copy, destination", destination, sizeBytes);
  HostMemory::shared().checkRange("copy, source", source, sizeBytes);
  enqueue([=] { std::memmove(pointerTo(destination), pointerTo(source), sizeBytes); });
}

void HostStream::fill(uint64_t destination, uint8_t value, uint64_t sizeBytes) {
  HostMemory::shared().checkRange("fill", destination, sizeBytes);
  enqueue([=] { std::memset(pointerTo(destination), value, sizeBytes); });
}

void HostStream::launch(const Launch &launch) {
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
  double seconds = timeoutOf(launch);
  HostPool &pool = HostPool::shared();
  auto ticket = std::make_shared<HostMemory::Ticket>();
  auto buffers = HostMemory::shared().snapshot(); // the caller may free some of them before the launch's turn comes
  int slots = launch.cooperative ? int(instances) : pool.threadCount();
  enqueue(Command{[=, &pool] {
                    auto execution = std::make_shared<HostExecution>(launch, module, ticket, buffers, slots);
                    pool.runToEnd(execution, launch.cooperative, seconds);
                  },
                  false, ticket});
}

void HostStream::record(const std::shared_ptr<Event> &event) {
  auto own = hostEvent(event);
  auto ticket = std::make_shared<HostMemory::Ticket>();
  // Announced under the stream's mutex: two records of one event in one stream keep their numbers' order.
  std::lock_guard lock(mutex);
  auto number = std::make_shared<uint64_t>();
  push(Command{[own, number] { own->reach(*number); }, true, std::move(ticket)});
  *number = own->announce(); // the stream's thread needs the mutex to take the command
}

void HostStream::wait(const std::shared_ptr<Event> &event) {
  auto own = hostEvent(event);
  uint64_t number = own->latest();
  enqueue([own, number] { own->waitFor(number); }, /*always=*/true);
}

void HostStream::hostFunction(std::function<void()> function) {
  enqueue(std::move(function));
}

} // namespace heddle
