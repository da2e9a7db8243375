// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Streams and events of the threads driver.
#pragma once
#include "runtime/RecordingStream.h"
#include "tests/threads_driver/Engine.h"

namespace heddle::threads {

/// The loaded kernel of a package.
class ThreadsModule : public Module {
public:
  ThreadsModule(Package description, std::shared_ptr<const Program> program)
      : Module(std::move(description)), program(std::move(program)) {}
  const std::shared_ptr<const Program> program;
};

class ThreadsEvent : public Event {
public:
  bool query() const override;
  void synchronize() const override;
  double millisecondsSince(const Event &start) const override;

  uint64_t announced = 0, reached = 0, nanoseconds = 0; ///< under the engine's lock
  Known known;
};

class ThreadsStream : public RecordingStream {
public:
  ThreadsStream(std::shared_ptr<Device> device);
  ~ThreadsStream() override;

  using RecordingStream::launch, Stream::copyToDevice, Stream::copyToHost, Stream::fill;
  void copyToDevice(uint64_t destination, const void *source, uint64_t sizeBytes) override;
  void copyToHost(void *destination, uint64_t source, uint64_t sizeBytes) override;
  void copy(uint64_t destination, uint64_t source, uint64_t sizeBytes) override;
  void fill(uint64_t destination, uint8_t value, uint64_t sizeBytes) override;
  void launch(const heddle::Launch &launch) override;
  void record(const std::shared_ptr<Event> &event) override;
  void wait(const std::shared_ptr<Event> &event) override;
  void hostFunction(std::function<void()> function) override;
  void synchronize() override;

private:
  void push(Command::Kind kind, std::function<void()> body, std::function<bool()> ready = nullptr);

  std::shared_ptr<Device> device;
  Queue queue;
};

} // namespace heddle::threads
