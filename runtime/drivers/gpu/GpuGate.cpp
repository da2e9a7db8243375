// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Puts off what would wait for kernels until the GPU is idle, so that no other launch has to wait for it.
#include "runtime/drivers/gpu/GpuGate.h"
#include <algorithm>
#include <iterator>
#include <thread>
#include <utility>

namespace heddle {
namespace {

enum class Activity { None, Capture, Work, Unknown };

// To ask a capturing stream whether it has work would end the capture.
Activity activityOf(const GpuContext &context, gpu::Stream stream) {
  GpuScope scope(context);
  int status = gpu::captureNone;
  if (context.api.streamIsCapturing(stream, &status))
    return Activity::Unknown;
  if (status != gpu::captureNone)
    return Activity::Capture;
  gpu::Result result = context.api.streamQuery(stream);
  return result == gpu::result::success    ? Activity::None
         : result == gpu::result::notReady ? Activity::Work
                                           : Activity::Unknown;
}

} // namespace

void GpuGate::addStream(const GpuContext &context, gpu::Stream stream) {
  std::lock_guard lock(callMutex);
  streams.push_back({&context, stream});
}

void GpuGate::removeStream(gpu::Stream stream) noexcept {
  std::lock_guard lock(callMutex);
  std::erase_if(streams, [&](const LiveStream &each) { return each.stream == stream; });
}

void GpuGate::whenIdle(Action action) noexcept {
  {
    std::lock_guard lock(mutex);
    retired.push_back(std::move(action));
  }
  collect();
}

void GpuGate::soon(Action action) noexcept {
  if (!insideGpuHostFunction())
    return action();
  std::lock_guard lock(mutex);
  postponed.push_back(std::move(action));
}

void GpuGate::whileIdle(const GpuContext &context, const Action &action) {
  auto end = std::chrono::steady_clock::now() + patience;
  while (!tryWhileIdle(context, action)) {
    if (std::chrono::steady_clock::now() >= end)
      return action();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

/// False when the GPU has work, or a thread is just putting some in.
bool GpuGate::tryWhileIdle(const GpuContext &context, const Action &action) {
  std::lock_guard calls(callMutex);
  std::unique_lock closed(entrance, std::try_to_lock);
  bool idle = closed && std::none_of(streams.begin(), streams.end(), [&](const LiveStream &each) {
                return each.context->number == context.number && activityOf(context, each.stream) == Activity::Work;
              });
  if (idle)
    action();
  return idle;
}

void GpuGate::collect() noexcept {
  if (insideGpuHostFunction())
    return;
  runPostponed();
  std::lock_guard calls(callMutex);
  // Who has just put work in, or is about to, comes first. To wait for them here could be to wait for a full queue.
  std::unique_lock closed(entrance, std::try_to_lock);
  if (!closed)
    return;
  // Taken before the streams are asked: what is let go meanwhile may be in use.
  std::vector<Action> waiting = takeRetired();
  if (waiting.empty())
    return;
  try {
    if (std::all_of(streams.begin(), streams.end(),
                    [](const LiveStream &each) { return activityOf(*each.context, each.stream) == Activity::None; })) {
      for (const Action &action : waiting)
        action();
      return;
    }
  } catch (const Error &) { // nothing can be asked of a lost context, nor of a driver that has shut down
  }
  std::lock_guard lock(mutex);
  retired.insert(retired.end(), std::make_move_iterator(waiting.begin()), std::make_move_iterator(waiting.end()));
}

bool GpuGate::collectAfterWaiting() {
  std::lock_guard calls(callMutex);
  std::vector<Action> waiting = takeRetired();
  if (waiting.empty())
    return false;
  for (const LiveStream &each : streams) {
    GpuScope scope(*each.context);
    int status = gpu::captureNone;
    each.context->call(each.context->api.streamIsCapturing, each.stream, &status);
    if (status == gpu::captureNone)
      each.context->api.streamSynchronize(each.stream); // its error stays with the stream
  }
  for (const Action &action : waiting)
    action();
  return true;
}

void GpuGate::runPostponed() noexcept {
  std::vector<Action> actions;
  {
    std::lock_guard lock(mutex);
    actions.swap(postponed);
  }
  for (const Action &action : actions)
    action();
}

std::vector<GpuGate::Action> GpuGate::takeRetired() {
  std::lock_guard lock(mutex);
  return std::exchange(retired, {});
}

} // namespace heddle
