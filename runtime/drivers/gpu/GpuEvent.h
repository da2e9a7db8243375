// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Events of GPUs, with times.
#pragma once
#include "runtime/Event.h"
#include "runtime/drivers/gpu/GpuDriver.h"
#include <memory>
#include <mutex>

namespace heddle {

class GpuEvent : public Event {
public:
  explicit GpuEvent(std::shared_ptr<GpuDevice> device);
  ~GpuEvent() override;

  bool query() const override;
  void synchronize() const override;
  double millisecondsSince(const Event &start) const override;

  const GpuContext &context() const { return device->context(); }
  gpu::Event raw() const { return handle; }
  /// `capture` is what the stream was capturing into, null for none. Called when the record is in the stream.
  void markRecorded(std::shared_ptr<const void> capture);
  gpu::GraphRecord &graphRecord() { return latestInGraph; } ///< under the lock of who orders graphs by it
  enum class Place { Nowhere, Stream, SameCapture, OtherCapture };
  /// Where the latest record is, seen from a stream that captures into `capture`, or nothing.
  Place recordedIn(const std::shared_ptr<const void> &capture) const;

private:
  std::shared_ptr<GpuDevice> device;
  gpu::Event handle = nullptr;
  mutable std::mutex mutex;
  bool recorded = false;
  std::weak_ptr<const void> captured; ///< what the latest record was captured into
  bool wasCaptured = false;
  gpu::GraphRecord latestInGraph;
};

/// Throws Error{Input} for none, and for one of another driver than that of `gpu`.
std::shared_ptr<GpuEvent> requireGpuEvent(const std::shared_ptr<Event> &event, const GpuContext &gpu);

} // namespace heddle
