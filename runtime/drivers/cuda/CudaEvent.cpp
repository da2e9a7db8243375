// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cuda/CudaEvent.h"
#include <fmt/format.h>

namespace heddle {

CudaEvent::CudaEvent(std::shared_ptr<CudaDevice> theDevice) : device(std::move(theDevice)) {
  CudaScope scope(context());
  context().call(context().api.eventCreate, &handle, 0u);
}

CudaEvent::~CudaEvent() {
  context().gate.soon(
      [device = device, handle = handle] { device->context().giveBack(device->context().api.eventDestroy, handle); });
}

/// After an error of the device everything counts as reached: the error is its stream's.
bool CudaEvent::query() const {
  CudaScope scope(context());
  return context().api.eventQuery(handle) != cuda::result::notReady;
}

void CudaEvent::synchronize() const {
  CudaScope scope(context());
  context().api.eventSynchronize(handle);
}

void CudaEvent::markRecorded(std::shared_ptr<const void> capture) {
  std::lock_guard lock(mutex);
  recorded = true;
  wasCaptured = capture != nullptr;
  captured = std::move(capture);
}

CudaEvent::Place CudaEvent::recordedIn(const std::shared_ptr<const void> &capture) const {
  std::lock_guard lock(mutex);
  if (!recorded)
    return Place::Nowhere;
  if (!wasCaptured)
    return Place::Stream;
  return capture && captured.lock() == capture ? Place::SameCapture : Place::OtherCapture;
}

double CudaEvent::millisecondsSince(const Event &start) const {
  const auto *other = dynamic_cast<const CudaEvent *>(&start);
  bool reachedHere = recordedIn(nullptr) == Place::Stream && query();
  bool reachedThere = other && other->recordedIn(nullptr) == Place::Stream && other->query();
  if (!reachedHere || !reachedThere)
    throw inputError(fmt::format("elapsed time: the {} event was not recorded, or is not reached yet",
                                 reachedThere ? "end" : "start"),
                     {"record both events, and synchronize with the later one"});
  if (&other->context() != &context())
    throw inputError(fmt::format("elapsed time: the start event is of {}, the end event of {}", other->context().name,
                                 context().name),
                     {"take both times on one device: each has a clock of its own"});
  CudaScope scope(context());
  const CudaApi &api = context().api;
  float milliseconds = 0;
  context().call(api.eventElapsedTimeV2 ? api.eventElapsedTimeV2 : api.eventElapsedTime, &milliseconds, other->handle,
                 handle);
  return milliseconds;
}

std::shared_ptr<CudaEvent> requireCudaEvent(const std::shared_ptr<Event> &event) {
  auto own = std::dynamic_pointer_cast<CudaEvent>(event);
  if (!own)
    throw inputError(event ? "the event belongs to a device of another driver" : "there is no event");
  return own;
}

} // namespace heddle
