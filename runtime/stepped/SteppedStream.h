// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Streams and events of a stepped engine. A driver adds the launch of its kernels.
#pragma once
#include "runtime/RecordingStream.h"
#include "runtime/stepped/SteppedEngine.h"

namespace heddle {

class Device;

class SteppedEvent : public Event {
public:
  explicit SteppedEvent(SteppedEngine &engine) : engine(engine) {}

  bool query() const override; ///< lets the devices go on for a turn, so that asking again and again ends
  void synchronize() const override;
  double millisecondsSince(const Event &start) const override;

protected:
  SteppedEngine &engine;

private:
  friend class SteppedStream;
  uint64_t announced = 0, reached = 0, nanoseconds = 0; ///< under the engine's lock
};

class SteppedStream : public RecordingStream {
public:
  /// `queue` is the driver's, and lives as long as the stream.
  SteppedStream(std::shared_ptr<Device> device, SteppedEngine &engine, std::unique_ptr<SteppedQueue> queue);
  ~SteppedStream() override;

  using RecordingStream::launch, Stream::copyToDevice, Stream::copyToHost, Stream::fill;
  void copyToDevice(uint64_t destination, const void *source, uint64_t sizeBytes) override;
  void copyToHost(void *destination, uint64_t source, uint64_t sizeBytes) override;
  void copy(uint64_t destination, uint64_t source, uint64_t sizeBytes) override;
  void fill(uint64_t destination, uint8_t value, uint64_t sizeBytes) override;
  void launch(const Launch &launch) override;
  void record(const std::shared_ptr<Event> &event) override;
  void wait(const std::shared_ptr<Event> &event) override;
  void hostFunction(std::function<void()> function) override;
  void synchronize() override;

  bool isIdle() const; ///< everything has run; asking lets nothing go on

protected:
  using Start = std::function<std::unique_ptr<SteppedLaunch>()>;
  /// Called when the launch is put into the stream: checks it, and returns what begins it when its turn has come.
  virtual Start prepare(const Launch &launch) = 0;

  const std::shared_ptr<Device> device;
  const std::unique_ptr<SteppedQueue> queue;

private:
  std::shared_ptr<SteppedEvent> ownEvent(const std::shared_ptr<Event> &event) const;
  void push(SteppedCommand::Kind kind, std::function<void()> body);

  SteppedEngine &engine;
};

} // namespace heddle
