// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Streams and events of the host: one thread per stream, started with the first work.
#pragma once
#include "runtime/RecordingStream.h"
#include "runtime/drivers/host/HostInstance.h"
#include "runtime/drivers/host/HostMemory.h"
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace heddle {

class HostDevice;

class HostEvent : public Event {
public:
  bool query() const override;
  void synchronize() const override;
  double millisecondsSince(const Event &start) const override;

  uint64_t announce();                 ///< a record was put into a stream; returns its number, from 1
  void reach(uint64_t number);         ///< the stream came to it
  uint64_t latest() const;             ///< number of the latest record, 0 for none
  void waitFor(uint64_t number) const; ///< blocks until that record or a later one is reached

private:
  using Time = std::chrono::steady_clock::time_point;
  std::optional<Time> timeReached() const;

  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  uint64_t announced = 0;
  uint64_t reached = 0;
  Time time;
};

class HostStream : public RecordingStream {
public:
  explicit HostStream(std::shared_ptr<HostDevice> device);
  ~HostStream() override;

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

private:
  enum class Kind { Work, Launch, Record, Wait };
  struct Command {
    std::function<bool(HostThread &own)> body; ///< false when the thread has been abandoned meanwhile
    Kind kind = Kind::Work;                    ///< records and waits run even after an error: others wait for them
    std::shared_ptr<HostMemory::Ticket> ticket;
  };
  struct Queue; ///< shared with the thread, which may outlive the stream

  void enqueue(std::function<void()> body, Kind kind = Kind::Work);

  std::shared_ptr<HostDevice> device; ///< kept alive
  std::shared_ptr<Queue> queue;
};

} // namespace heddle
