// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Events of CUDA devices, with times.
#pragma once
#include "runtime/Event.h"
#include "runtime/drivers/cuda/CudaDriver.h"
#include <memory>
#include <mutex>

namespace heddle {

class CudaEvent : public Event {
public:
  explicit CudaEvent(std::shared_ptr<CudaDevice> device);
  ~CudaEvent() override;

  bool query() const override;
  void synchronize() const override;
  double millisecondsSince(const Event &start) const override;

  const CudaContext &context() const { return device->context(); }
  cuda::Event raw() const { return handle; }
  /// `capture` is what the stream was capturing into, null for none. Called when the record is in the stream.
  void markRecorded(std::shared_ptr<const void> capture);
  enum class Place { Nowhere, Stream, SameCapture, OtherCapture };
  /// Where the latest record is, seen from a stream that captures into `capture`, or nothing.
  Place recordedIn(const std::shared_ptr<const void> &capture) const;

private:
  std::shared_ptr<CudaDevice> device;
  cuda::Event handle = nullptr;
  mutable std::mutex mutex;
  bool recorded = false;
  std::weak_ptr<const void> captured; ///< what the latest record was captured into
  bool wasCaptured = false;
};

/// Throws Error{Input} for none, and for one of another driver.
std::shared_ptr<CudaEvent> requireCudaEvent(const std::shared_ptr<Event> &event);

} // namespace heddle
