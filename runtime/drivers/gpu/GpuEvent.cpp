// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Events that know in which capture they were recorded, where they have no time.
#include "runtime/drivers/gpu/GpuEvent.h"
#include <fmt/format.h>

namespace heddle {

GpuEvent::GpuEvent(std::shared_ptr<GpuDevice> theDevice) : device(std::move(theDevice)) {
  GpuScope scope(context());
  context().call(context().api.eventCreate, &handle, 0u);
}

GpuEvent::~GpuEvent() {
  context().gate.soon(
      [device = device, handle = handle] { device->context().giveBack(device->context().api.eventDestroy, handle); });
}

/// After an error of the device everything counts as reached: the error is its stream's.
bool GpuEvent::query() const {
  GpuScope scope(context());
  return context().api.eventQuery(handle) != gpu::result::notReady;
}

void GpuEvent::synchronize() const {
  GpuScope scope(context());
  context().api.eventSynchronize(handle);
}

void GpuEvent::markRecorded(std::shared_ptr<const void> capture) {
  std::lock_guard lock(mutex);
  recorded = true;
  wasCaptured = capture != nullptr;
  captured = std::move(capture);
}

GpuEvent::Place GpuEvent::recordedIn(const std::shared_ptr<const void> &capture) const {
  std::lock_guard lock(mutex);
  if (!recorded)
    return Place::Nowhere;
  if (!wasCaptured)
    return Place::Stream;
  return capture && captured.lock() == capture ? Place::SameCapture : Place::OtherCapture;
}

double GpuEvent::millisecondsSince(const Event &start) const {
  const auto *other = dynamic_cast<const GpuEvent *>(&start);
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
  GpuScope scope(context());
  const GpuApi &api = context().api;
  float milliseconds = 0;
  context().call(api.eventElapsedTime, &milliseconds, other->handle, handle);
  return milliseconds;
}

std::shared_ptr<GpuEvent> requireGpuEvent(const std::shared_ptr<Event> &event, const GpuContext &gpu) {
  auto own = std::dynamic_pointer_cast<GpuEvent>(event);
  if (!own || &own->context().api != &gpu.api)
    throw inputError(event ? "the event belongs to a device of another driver" : "there is no event");
  return own;
}

} // namespace heddle
