// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cuda/CudaReclaimer.h"
#include <algorithm>
#include <utility>

namespace heddle {

void CudaReclaimer::addStream(const CudaContext &context, cuda::Stream stream) {
  std::lock_guard lock(callMutex);
  streams.push_back({&context, stream});
}

void CudaReclaimer::removeStream(cuda::Stream stream) noexcept {
  std::lock_guard lock(callMutex);
  std::erase_if(streams, [&](const LiveStream &each) { return each.stream == stream; });
}

void CudaReclaimer::whenIdle(Action action) noexcept {
  {
    std::lock_guard lock(mutex);
    retired.push_back(std::move(action));
  }
  collect();
}

void CudaReclaimer::soon(Action action) noexcept {
  if (!insideCudaHostFunction())
    return action();
  std::lock_guard lock(mutex);
  postponed.push_back(std::move(action));
}

void CudaReclaimer::collect() noexcept {
  if (insideCudaHostFunction())
    return;
  runPostponed();
  std::lock_guard calls(callMutex);
  // Who has just put work in, or is about to, comes first. To wait for them here could be to wait for a full queue.
  std::unique_lock closed(gate, std::try_to_lock);
  if (!closed)
    return;
  // Taken before the streams are asked: what is let go meanwhile may be in use.
  std::vector<Action> waiting = takeRetired();
  if (waiting.empty())
    return;
  try {
    if (allIdle()) {
      for (const Action &action : waiting)
        action();
      return;
    }
  } catch (const Error &) { // nothing can be asked of a lost context, nor of a driver that has shut down
  }
  std::lock_guard lock(mutex);
  retired.insert(retired.end(), std::make_move_iterator(waiting.begin()), std::make_move_iterator(waiting.end()));
}

bool CudaReclaimer::collectAfterWaiting() {
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

void CudaReclaimer::runPostponed() noexcept {
  std::vector<Action> actions;
  {
    std::lock_guard lock(mutex);
    actions.swap(postponed);
  }
  for (const Action &action : actions)
    action();
}

bool CudaReclaimer::allIdle() {
  return std::all_of(streams.begin(), streams.end(), [](const LiveStream &each) {
    CudaScope scope(*each.context);
    int status = cuda::captureNone;
    // To ask a capturing stream whether it has work would end the capture.
    return each.context->api.streamIsCapturing(each.stream, &status) == cuda::result::success &&
           status == cuda::captureNone && each.context->api.streamQuery(each.stream) == cuda::result::success;
  });
}

std::vector<CudaReclaimer::Action> CudaReclaimer::takeRetired() {
  std::lock_guard lock(mutex);
  return std::exchange(retired, {});
}

} // namespace heddle
