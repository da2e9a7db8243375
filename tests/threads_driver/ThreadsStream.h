// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Streams and events of the threads driver.
#pragma once
#include "runtime/Stream.h"
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

class ThreadsStream : public Stream {
public:
  ThreadsStream(std::shared_ptr<Device> device);
  ~ThreadsStream() override;

  using Stream::copyToDevice, Stream::copyToHost, Stream::fill;
  void copyToDevice(uint64_t destination, const void *source, uint64_t sizeBytes) override;
  void copyToHost(void *destination, uint64_t source, uint64_t sizeBytes) override;
  void copy(uint64_t destination, uint64_t source, uint64_t sizeBytes) override;
  void fill(uint64_t destination, uint8_t value, uint64_t sizeBytes) override;
  void launch(const heddle::Launch &launch) override;
  void launch(Graph &graph) override;
  void record(const std::shared_ptr<Event> &event) override;
  void wait(const std::shared_ptr<Event> &event) override;
  void hostFunction(std::function<void()> function) override;
  void beginCapture() override;
  std::unique_ptr<Graph> endCapture() override;
  void synchronize() override;

private:
  void push(Command::Kind kind, std::function<void()> body, std::function<bool()> ready = nullptr);
  /// While capturing, keeps the call for the graph: true.
  bool recordCall(RecordedGraph::Call call);

  std::shared_ptr<Device> device;
  Queue queue;
  std::unique_ptr<RecordedGraph> capture; ///< null when not capturing
};

} // namespace heddle::threads
