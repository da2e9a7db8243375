// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pushes commands for copies, launches, host functions and events, and waits by making the engine go on.
#include "runtime/stepped/SteppedStream.h"
#include "runtime/Device.h"
#include "support/Error.h"
#include <cstring>
#include <fmt/format.h>

namespace heddle {
namespace {

using Kind = SteppedCommand::Kind;

const char *const foreignEvent = "the event belongs to a device of another driver";

} // namespace

//===-- Events ---------------------------------------------------------------------------------------------------===//

bool SteppedEvent::query() const {
  engine.runOneTurn();
  SteppedEngine::Guard guard = engine.lock();
  return reached >= announced;
}

void SteppedEvent::synchronize() const {
  engine.runUntil([&] { return reached >= announced; });
}

double SteppedEvent::millisecondsSince(const Event &start) const {
  const auto *from = dynamic_cast<const SteppedEvent *>(&start);
  if (!from || &from->engine != &engine)
    throw inputError(fmt::format("elapsed time: {}", foreignEvent));
  SteppedEngine::Guard guard = engine.lock();
  auto isReached = [](const SteppedEvent &event) { return event.announced && event.reached >= event.announced; };
  if (!isReached(*from) || !isReached(*this))
    throw inputError(fmt::format("elapsed time: the {} event was not recorded, or is not reached yet",
                                 isReached(*from) ? "end" : "start"),
                     {"record both events, and synchronize with the later one"});
  return double(int64_t(nanoseconds - from->nanoseconds)) * 1e-6;
}

//===-- Streams --------------------------------------------------------------------------------------------------===//

SteppedStream::SteppedStream(std::shared_ptr<Device> theDevice, SteppedEngine &theEngine,
                             std::unique_ptr<SteppedQueue> theQueue)
    : RecordingStream(theDevice->name()), device(std::move(theDevice)), queue(std::move(theQueue)), engine(theEngine) {
  queue->device = device->name();
  queue->ordinal = unsigned(device->ordinal());
  engine.open(*queue);
}

bool SteppedStream::isIdle() const {
  SteppedEngine::Guard guard = engine.lock();
  return queue->isIdle();
}

SteppedStream::~SteppedStream() {
  try {
    engine.runUntil([&] { return queue->isIdle(); });
  } catch (const Error &) { // dropped, as Stream.h says
  }
  engine.close(*queue);
}

/// Of this driver: the times of others are of another clock, and under another lock.
std::shared_ptr<SteppedEvent> SteppedStream::ownEvent(const std::shared_ptr<Event> &event) const {
  auto own = std::dynamic_pointer_cast<SteppedEvent>(event);
  if (!own || &own->engine != &engine)
    throw inputError(event ? foreignEvent : "there is no event");
  return own;
}

void SteppedStream::push(Kind kind, std::function<void()> body) {
  SteppedCommand command;
  command.kind = kind, command.body = std::move(body);
  engine.push(engine.lock(), *queue, std::move(command));
}

void SteppedStream::copyToDevice(uint64_t destination, const void *source, uint64_t sizeBytes) {
  engine.checkRange("copyToDevice", destination, sizeBytes);
  if (recordCall([=](Stream &stream) { stream.copyToDevice(destination, source, sizeBytes); }))
    return;
  push(Kind::Work, [=, this] {
    std::memcpy(engine.access(*queue, "a copy from the host", destination, sizeBytes, true), source, sizeBytes);
  });
}

void SteppedStream::copyToHost(void *destination, uint64_t source, uint64_t sizeBytes) {
  engine.checkRange("copyToHost", source, sizeBytes);
  if (recordCall([=](Stream &stream) { stream.copyToHost(destination, source, sizeBytes); }))
    return;
  push(Kind::Work, [=, this] {
    std::memcpy(destination, engine.access(*queue, "a copy to the host", source, sizeBytes, false), sizeBytes);
  });
}

void SteppedStream::copy(uint64_t destination, uint64_t source, uint64_t sizeBytes) {
  engine.checkRange("copy", destination, sizeBytes);
  engine.checkRange("copy", source, sizeBytes);
  if (recordCall([=](Stream &stream) { stream.copy(destination, source, sizeBytes); }))
    return;
  push(Kind::Work, [=, this] {
    const uint8_t *from = engine.access(*queue, "a copy", source, sizeBytes, false);
    std::memmove(engine.access(*queue, "a copy", destination, sizeBytes, true), from, sizeBytes);
  });
}

void SteppedStream::fill(uint64_t destination, uint8_t value, uint64_t sizeBytes) {
  engine.checkRange("fill", destination, sizeBytes);
  if (recordCall([=](Stream &stream) { stream.fill(destination, value, sizeBytes); }))
    return;
  push(Kind::Work,
       [=, this] { std::memset(engine.access(*queue, "a fill", destination, sizeBytes, true), value, sizeBytes); });
}

void SteppedStream::launch(const Launch &launch) {
  checkLaunch(launch);
  Start start = prepare(launch);
  if (recordCall([launch](Stream &stream) { stream.launch(launch); }))
    return;
  SteppedCommand command;
  command.kind = Kind::Launch, command.start = std::move(start);
  engine.push(engine.lock(), *queue, std::move(command));
}

void SteppedStream::record(const std::shared_ptr<Event> &event) {
  auto own = ownEvent(event);
  if (recordCall([event](Stream &stream) { stream.record(event); }))
    return;
  SteppedEngine::Guard guard = engine.lock(); // until it is in the queue: who waits for the number finds it there
  SteppedCommand command;
  command.kind = Kind::Record;
  command.body = [=, this, number = ++own->announced] {
    own->reached = std::max(own->reached, number);
    own->nanoseconds = engine.nanoseconds();
    engine.recordReached(*queue, *own);
  };
  engine.push(guard, *queue, std::move(command));
}

void SteppedStream::wait(const std::shared_ptr<Event> &event) {
  auto own = ownEvent(event);
  if (recordCall([event](Stream &stream) { stream.wait(event); }))
    return;
  SteppedEngine::Guard guard = engine.lock();
  SteppedCommand command;
  command.kind = Kind::Wait;
  command.body = [=, this] { engine.waitIsOver(*queue, *own); };
  command.ready = [own, number = own->announced] { return own->reached >= number; };
  engine.push(guard, *queue, std::move(command));
}

void SteppedStream::hostFunction(std::function<void()> function) {
  if (!recordCall([=](Stream &stream) { stream.hostFunction(function); }))
    push(Kind::HostFunction, std::move(function));
}

void SteppedStream::synchronize() {
  requireNoCapture();
  engine.synchronize(*queue);
}

} // namespace heddle
