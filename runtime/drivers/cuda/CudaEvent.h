// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Events of CUDA devices, with times.
#pragma once
#include "runtime/Event.h"
#include "runtime/drivers/cuda/CudaDriver.h"
#include <atomic>

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
  void markRecorded() { recorded = true; }

private:
  std::shared_ptr<CudaDevice> device;
  cuda::Event handle = nullptr;
  std::atomic<bool> recorded = false;
};

/// Throws Error{Input} for none, and for one of another driver.
std::shared_ptr<CudaEvent> requireCudaEvent(const std::shared_ptr<Event> &event);

} // namespace heddle
