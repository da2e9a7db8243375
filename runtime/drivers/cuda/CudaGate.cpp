// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cuda/CudaGate.h"
#include <algorithm>
#include <iterator>
#include <thread>
#include <utility>

namespace heddle {
namespace {

enum class Activity { None, Capture, Work, Unknown };

// To ask a capturing stream whether it has work would end the capture.
Activity activityOf(const CudaContext &context, cuda::Stream stream) {
  CudaScope scope(context);
  int status = cuda::captureNone;
  if (context.api.streamIsCapturing(stream, &status))
    return Activity::Unknown;
  if (status != cuda::captureNone)
    return Activity::Capture;
  cuda::Result result = context.api.streamQuery(stream);
  return result == cuda::result::success    ? Activity::None
         : result == cuda::result::notReady ? Activity::Work
                                            : Activity::Unknown;
}

} // namespace

void CudaGate::addStream(const CudaContext &context, cuda::Stream stream) {
  std::lock_guard lock(callMutex);
  streams.push_back({&context, stream});
}

void CudaGate::removeStream(cuda::Stream stream) noexcept {
  std::lock_guard lock(callMutex);
  std::erase_if(streams, [&](const LiveStream &each) { return each.stream == stream; });
}

void CudaGate::whenIdle(Action action) noexcept {
  {
    std::lock_guard lock(mutex);
    retired.push_back(std::move(action));
  }
  collect();
}

void CudaGate::soon(Action action) noexcept {
  if (!insideCudaHostFunction())
    return action();
  std::lock_guard lock(mutex);
  postponed.push_back(std::move(action));
}

void CudaGate::whileIdle(const CudaContext &context, const Action &action) {
  auto end = std::chrono::steady_clock::now() + patience;
  while (!tryWhileIdle(context, action)) {
    if (std::chrono::steady_clock::now() >= end)
      return action();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

/// False when the device has work, or somebody is just putting some in.
bool CudaGate::tryWhileIdle(const CudaContext &context, const Action &action) {
  std::lock_guard calls(callMutex);
  std::unique_lock closed(entrance, std::try_to_lock);
  bool idle = closed && std::none_of(streams.begin(), streams.end(), [&](const LiveStream &each) {
                return each.context == &context && activityOf(context, each.stream) == Activity::Work;
              });
  if (idle)
    action();
  return idle;
}

void CudaGate::collect() noexcept {
  if (insideCudaHostFunction())
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

bool CudaGate::collectAfterWaiting() {
  std::lock_guard calls(callMutex);
  std::vector<Action> waiting = takeRetired();
  if (waiting.empty())
    return false;
  for (const LiveStream &each : streams) {
    CudaScope scope(*each.context);
    int status = cuda::captureNone;
    each.context->call(each.context->api.streamIsCapturing, each.stream, &status);
    if (status == cuda::captureNone)
      each.context->api.streamSynchronize(each.stream); // its error stays with the stream
  }
  for (const Action &action : waiting)
    action();
  return true;
}

void CudaGate::runPostponed() noexcept {
  std::vector<Action> actions;
  {
    std::lock_guard lock(mutex);
    actions.swap(postponed);
  }
  for (const Action &action : actions)
    action();
}

std::vector<CudaGate::Action> CudaGate::takeRetired() {
  std::lock_guard lock(mutex);
  return std::exchange(retired, {});
}

} // namespace heddle
