// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/threads_driver/ThreadsStream.h"
#include "runtime/Device.h"
#include "support/Error.h"
#include <cstring>
#include <fmt/format.h>

using namespace heddle;
using namespace heddle::threads;

static Engine &engine() {
  return Engine::shared();
}

static void *pointerTo(uint64_t address) {
  return reinterpret_cast<void *>(address);
}

static std::shared_ptr<ThreadsEvent> ownEvent(const std::shared_ptr<Event> &event) {
  auto own = std::dynamic_pointer_cast<ThreadsEvent>(event);
  if (!own)
    throw inputError(event ? "the event belongs to a device of another driver" : "there is no event");
  return own;
}

//===-- Events ---------------------------------------------------------------------------------------------------===//

bool ThreadsEvent::query() const {
  std::lock_guard guard(engine().lock());
  return reached >= announced;
}

void ThreadsEvent::synchronize() const {
  engine().runUntil([&] { return reached >= announced; });
  std::lock_guard guard(engine().lock());
  engine().hostLearns(known);
}

double ThreadsEvent::millisecondsSince(const Event &start) const {
  std::lock_guard guard(engine().lock());
  const auto *from = dynamic_cast<const ThreadsEvent *>(&start);
  auto isReached = [](const ThreadsEvent *event) {
    return event && event->announced && event->reached >= event->announced;
  };
  if (!isReached(from) || !isReached(this))
    throw inputError(fmt::format("elapsed time: the {} event was not recorded, or is not reached yet",
                                 isReached(from) ? "end" : "start"),
                     {"record both events, and synchronize with the later one"});
  return double(int64_t(nanoseconds - from->nanoseconds)) * 1e-6;
}

//===-- Streams --------------------------------------------------------------------------------------------------===//

ThreadsStream::ThreadsStream(std::shared_ptr<Device> theDevice)
    : RecordingStream(theDevice->name()), device(std::move(theDevice)) {
  queue.device = device->name();
  queue.ordinal = unsigned(device->ordinal());
  engine().open(queue);
}

ThreadsStream::~ThreadsStream() {
  try {
    engine().runUntil([&] { return queue.isIdle(); });
  } catch (const Error &) { // dropped, as Stream.h says
  }
  engine().close(queue);
}

void ThreadsStream::push(Command::Kind kind, std::function<void()> body, std::function<bool()> ready) {
  Command command;
  command.kind = kind, command.body = std::move(body), command.ready = std::move(ready);
  engine().push(queue, std::move(command));
}

void ThreadsStream::copyToDevice(uint64_t destination, const void *source, uint64_t sizeBytes) {
  engine().checkRange("copyToDevice", destination, sizeBytes);
  if (recordCall([=](Stream &stream) { stream.copyToDevice(destination, source, sizeBytes); }))
    return;
  push(Command::Kind::Work, [=, this] {
    engine().access(queue, "a copy from the host", destination, sizeBytes, Access::Write);
    std::memcpy(pointerTo(destination), source, sizeBytes);
  });
}

void ThreadsStream::copyToHost(void *destination, uint64_t source, uint64_t sizeBytes) {
  engine().checkRange("copyToHost", source, sizeBytes);
  if (recordCall([=](Stream &stream) { stream.copyToHost(destination, source, sizeBytes); }))
    return;
  push(Command::Kind::Work, [=, this] {
    engine().access(queue, "a copy to the host", source, sizeBytes, Access::Read);
    std::memcpy(destination, pointerTo(source), sizeBytes);
  });
}

void ThreadsStream::copy(uint64_t destination, uint64_t source, uint64_t sizeBytes) {
  engine().checkRange("copy", destination, sizeBytes);
  engine().checkRange("copy", source, sizeBytes);
  if (recordCall([=](Stream &stream) { stream.copy(destination, source, sizeBytes); }))
    return;
  push(Command::Kind::Work, [=, this] {
    engine().access(queue, "a copy", source, sizeBytes, Access::Read);
    engine().access(queue, "a copy", destination, sizeBytes, Access::Write);
    std::memmove(pointerTo(destination), pointerTo(source), sizeBytes);
  });
}

void ThreadsStream::fill(uint64_t destination, uint8_t value, uint64_t sizeBytes) {
  engine().checkRange("fill", destination, sizeBytes);
  if (recordCall([=](Stream &stream) { stream.fill(destination, value, sizeBytes); }))
    return;
  push(Command::Kind::Work, [=, this] {
    engine().access(queue, "a fill", destination, sizeBytes, Access::Write);
    std::memset(pointerTo(destination), value, sizeBytes);
  });
}

void ThreadsStream::launch(const heddle::Launch &launch) {
  constexpr int64_t mostCooperative = 512, residentOtherwise = 16;
  checkLaunch(launch);
  auto module = std::dynamic_pointer_cast<ThreadsModule>(launch.kernel.module);
  if (!module)
    throw inputError(
        fmt::format("kernel `{}` was loaded on a device of another driver", launch.kernel.package().kernel));
  int64_t blocks = launch.grid[0] * launch.grid[1] * launch.grid[2];
  if (launch.cooperative && blocks > mostCooperative)
    throw inputError(fmt::format("kernel `{}`: a cooperative launch of {} blocks; {} runs at most {} at once",
                                 launch.kernel.package().kernel, blocks, queue.device, mostCooperative));
  if (recordCall([launch](Stream &stream) { stream.launch(launch); }))
    return;
  auto rank = std::make_unique<Rank>();
  rank->program = module->program;
  rank->index = queue.ordinal;
  rank->name = queue.device;
  rank->residentBlocks = unsigned(launch.cooperative ? blocks : residentOtherwise);
  rank->launch.grid = {uint32_t(launch.grid[0]), uint32_t(launch.grid[1]), uint32_t(launch.grid[2])};
  rank->launch.block.x = uint32_t(module->package().threads);
  rank->launch.dynamicSharedBytes = uint32_t(module->package().sharedBytes);
  rank->launch.arguments = argumentSlots(launch);
  rank->launch.arguments.push_back(0); // the launch's record (binary/CudaAbi.h)
  Command command;
  command.kind = Command::Kind::Launch, command.launch = std::move(rank);
  engine().push(queue, std::move(command));
}

void ThreadsStream::record(const std::shared_ptr<Event> &event) {
  auto own = ownEvent(event);
  if (recordCall([event](Stream &stream) { stream.record(event); }))
    return;
  std::lock_guard guard(engine().lock());
  uint64_t number = ++own->announced;
  push(Command::Kind::Record, [=, this] {
    own->reached = std::max(own->reached, number);
    own->nanoseconds = engine().nanoseconds();
    own->known = engine().knowledgeOf(queue);
  });
}

void ThreadsStream::wait(const std::shared_ptr<Event> &event) {
  auto own = ownEvent(event);
  if (recordCall([event](Stream &stream) { stream.wait(event); }))
    return;
  std::lock_guard guard(engine().lock());
  uint64_t number = own->announced;
  push(Command::Kind::Wait, [=, this] { engine().learn(queue, own->known); }, [=] { return own->reached >= number; });
}

void ThreadsStream::hostFunction(std::function<void()> function) {
  if (!recordCall([=](Stream &stream) { stream.hostFunction(function); }))
    push(Command::Kind::Work, std::move(function));
}

void ThreadsStream::synchronize() {
  requireNoCapture();
  engine().synchronize(queue);
}
