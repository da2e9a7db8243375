// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fake libcuda: copies, streams, graphs, events and host functions.
#include "runtime/drivers/cuda/FakeCudaState.h"
#include <cstring>

namespace heddle::fake {
extern "C" {

Result cuMemcpyHtoDAsync_v2(Address destination, const void *source, size_t bytes, Stream stream) {
  ENTER(cuMemcpyHtoDAsync_v2);
  return enqueue(stream, [=] { std::memcpy(pointerTo<void>(destination), source, bytes); });
}

Result cuMemcpyDtoHAsync_v2(void *destination, Address source, size_t bytes, Stream stream) {
  ENTER(cuMemcpyDtoHAsync_v2);
  return enqueue(stream, [=] { std::memcpy(destination, pointerTo<void>(source), bytes); });
}

Result cuMemcpyDtoDAsync_v2(Address destination, Address source, size_t bytes, Stream stream) {
  ENTER(cuMemcpyDtoDAsync_v2);
  if (deviceOf(destination) != deviceOf(source) &&
      !state().enabledPeers.count({deviceOf(destination), deviceOf(source)}))
    return result::invalidValue;
  return enqueue(stream, [=] { std::memmove(pointerTo<void>(destination), pointerTo<void>(source), bytes); });
}

Result cuMemcpyPeerAsync(Address destination, Context to, Address source, Context from, size_t bytes, Stream stream) {
  ENTER(cuMemcpyPeerAsync);
  if (deviceOf(destination) != to->device || deviceOf(source) != from->device)
    return result::invalidValue;
  return enqueue(stream, [=] { std::memmove(pointerTo<void>(destination), pointerTo<void>(source), bytes); });
}

Result cuMemsetD8Async(Address destination, unsigned char value, size_t bytes, Stream stream) {
  ENTER(cuMemsetD8Async);
  return enqueue(stream, [=] { std::memset(pointerTo<void>(destination), value, bytes); });
}

Result cuStreamCreateWithPriority(Stream *stream, unsigned, int) {
  ENTER(cuStreamCreateWithPriority);
  *stream = new StreamHandle{nullptr, current->device};
  ++state().control.liveStreams;
  return result::success;
}

Result cuStreamDestroy_v2(Stream stream) {
  ENTER(cuStreamDestroy_v2);
  drain();
  delete stream;
  --state().control.liveStreams;
  return result::success;
}

Result cuStreamSynchronize(Stream stream) {
  ENTER(cuStreamSynchronize);
  if (stream->capture)
    return result::captureUnsupported;
  drain();
  return state().control.lost;
}

static Result queryStream(Stream stream) {
  ENTER(cuStreamQuery);
  if (stream->capture)
    return result::captureUnsupported;
  for (const auto &[owner, work] : state().queue)
    if (owner == stream)
      return result::notReady;
  return result::success;
}

Result cuStreamQuery(Stream stream) {
  Result result = queryStream(stream);
  if (auto call = std::exchange(state().control.afterQuery, nullptr))
    call(); // outside of the lock: other threads may go on
  return result;
}

Result cuStreamWaitEvent(Stream, Event, unsigned) {
  ENTER(cuStreamWaitEvent);
  return result::success; // all work is in one queue
}

Result cuStreamIsCapturing(Stream stream, int *status) {
  ENTER(cuStreamIsCapturing);
  *status = stream->capture ? 1 : 0;
  return result::success;
}

Result cuStreamBeginCapture_v2(Stream stream, int) {
  ENTER(cuStreamBeginCapture_v2);
  stream->capture = new GraphHandle;
  ++state().control.liveGraphs;
  return result::success;
}

Result cuGraphDestroy(Graph graph) {
  ENTER(cuGraphDestroy);
  delete graph;
  --state().control.liveGraphs;
  return result::success;
}

Result cuStreamEndCapture(Stream stream, Graph *graph) {
  std::lock_guard lock(state().mutex);
  *graph = std::exchange(stream->capture, nullptr);
  if (Result failure = enter("cuStreamEndCapture")) {
    delete std::exchange(*graph, nullptr);
    --state().control.liveGraphs;
    return failure;
  }
  return result::success;
}

Result cuGraphInstantiateWithFlags(GraphExec *exec, Graph graph, unsigned long long) {
  ENTER(cuGraphInstantiateWithFlags);
  *exec = new GraphExecHandle{graph->work};
  ++state().control.liveGraphs;
  return result::success;
}

Result cuGraphUpload(GraphExec, Stream) {
  ENTER(cuGraphUpload);
  return result::success;
}

Result cuGraphLaunch(GraphExec exec, Stream stream) {
  ENTER(cuGraphLaunch);
  return enqueue(stream, [exec] {
    for (const auto &work : exec->work)
      work();
  });
}

Result cuGraphExecDestroy(GraphExec exec) {
  ENTER(cuGraphExecDestroy);
  delete exec;
  --state().control.liveGraphs;
  return result::success;
}

Result cuEventCreate(Event *event, unsigned) {
  ENTER(cuEventCreate);
  *event = new EventHandle;
  ++state().control.liveEvents;
  return result::success;
}

Result cuEventDestroy_v2(Event event) {
  ENTER(cuEventDestroy_v2);
  drain();
  delete event;
  --state().control.liveEvents;
  return result::success;
}

Result cuEventRecord(Event event, Stream stream) {
  ENTER(cuEventRecord);
  int64_t number = ++state().clock;
  event->recorded = number;
  return enqueue(stream, [event, number] { event->reached = number; });
}

Result cuEventQuery(Event event) {
  ENTER(cuEventQuery);
  return event->reached == event->recorded ? result::success : result::notReady;
}

Result cuEventSynchronize(Event) {
  ENTER(cuEventSynchronize);
  drain();
  return state().control.lost;
}

Result cuEventElapsedTime(float *milliseconds, Event start, Event end) {
  ENTER(cuEventElapsedTime);
  *milliseconds = float(end->reached - start->reached);
  return result::success;
}

Result cuLaunchHostFunc(Stream stream, HostFunction function, void *data) {
  ENTER(cuLaunchHostFunc);
  return enqueue(stream, [=] { function(data); });
}

} // extern "C"

} // namespace heddle::fake
