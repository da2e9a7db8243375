// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fake libamdhip64: copies, streams, graphs and events.
#include "tests/fake_hip/FakeHipState.h"

namespace heddle::fake_hip {

static Result enqueue(const char *symbol, Stream stream, const std::function<void(heddle::Stream &)> &work) {
  stream->asked = 0;
  return attempt(symbol, result::invalidValue, [&] { work(*stream->stream); });
}

static bool mayCopy(Address destination, Address source) {
  int to = ownerOf(destination), from = ownerOf(source);
  std::lock_guard lock(state().mutex);
  return to == from || state().enabledPeers.count({to, from});
}

extern "C" {

Result hipMemcpyHtoDAsync(Address destination, const void *source, size_t bytes, Stream stream) {
  ENTER(hipMemcpyHtoDAsync);
  return enqueue("hipMemcpyHtoDAsync", stream,
                 [=](heddle::Stream &own) { own.copyToDevice(destination, source, bytes); });
}

Result hipMemcpyDtoHAsync(void *destination, Address source, size_t bytes, Stream stream) {
  ENTER(hipMemcpyDtoHAsync);
  return enqueue("hipMemcpyDtoHAsync", stream,
                 [=](heddle::Stream &own) { own.copyToHost(destination, source, bytes); });
}

Result hipMemcpyDtoDAsync(Address destination, Address source, size_t bytes, Stream stream) {
  ENTER(hipMemcpyDtoDAsync);
  if (!mayCopy(destination, source))
    return result::invalidValue;
  return enqueue("hipMemcpyDtoDAsync", stream, [=](heddle::Stream &own) { own.copy(destination, source, bytes); });
}

Result hipMemcpyPeerAsync(Address destination, int to, Address source, int from, size_t bytes, Stream stream) {
  ENTER(hipMemcpyPeerAsync);
  if (ownerOf(destination) != to || ownerOf(source) != from)
    return result::invalidValue;
  return enqueue("hipMemcpyPeerAsync", stream, [=](heddle::Stream &own) { own.copy(destination, source, bytes); });
}

Result hipMemsetD8Async(Address destination, unsigned char value, size_t bytes, Stream stream) {
  ENTER(hipMemsetD8Async);
  return enqueue("hipMemsetD8Async", stream, [=](heddle::Stream &own) { own.fill(destination, value, bytes); });
}

Result hipStreamCreateWithPriority(Stream *stream, unsigned, int) {
  ENTER(hipStreamCreateWithPriority);
  *stream = new StreamHandle;
  (*stream)->device = current;
  (*stream)->stream = deviceOf(current).createStream();
  std::lock_guard lock(state().mutex);
  state().streams.insert(*stream);
  ++state().control.liveStreams;
  return result::success;
}

Result hipStreamDestroy(Stream stream) {
  ENTER(hipStreamDestroy);
  {
    std::lock_guard lock(state().mutex);
    state().streams.erase(stream);
    --state().control.liveStreams;
  }
  delete stream;
  return result::success;
}

Result hipStreamSynchronize(Stream stream) {
  ENTER(hipStreamSynchronize);
  return stream->capturing ? result::captureUnsupported : drain(stream);
}

/// Who asks once gets the answer; who asks again lets the devices go on.
Result hipStreamQuery(Stream stream) {
  ENTER(hipStreamQuery);
  if (stream->capturing)
    return result::captureUnsupported;
  if (!stream->isIdle() && stream->asked++ > 0) {
    auto event = deviceOf(stream->device).createEvent();
    stream->stream->record(event);
    event->query();
  }
  return stream->isIdle() ? result::success : result::notReady;
}

Result hipStreamWaitEvent(Stream stream, Event event, unsigned) {
  ENTER(hipStreamWaitEvent);
  if (!event->event)
    return result::success;
  return enqueue("hipStreamWaitEvent", stream, [=](heddle::Stream &own) { own.wait(event->event); });
}

Result hipStreamIsCapturing(Stream stream, int *status) {
  ENTER(hipStreamIsCapturing);
  *status = stream->capturing ? 1 : 0;
  return result::success;
}

Result hipStreamBeginCapture(Stream stream, int) {
  ENTER(hipStreamBeginCapture);
  stream->capturing = true;
  return enqueue("hipStreamBeginCapture", stream, [](heddle::Stream &own) { own.beginCapture(); });
}

Result hipStreamEndCapture(Stream stream, Graph *graph) {
  Result failure = enter("hipStreamEndCapture");
  stream->capturing = false;
  *graph = nullptr;
  std::shared_ptr<heddle::Graph> captured = stream->stream->endCapture();
  if (failure)
    return failure;
  *graph = new GraphHandle{std::move(captured)};
  std::lock_guard lock(state().mutex);
  ++state().control.liveGraphs;
  return result::success;
}

Result hipGraphInstantiateWithFlags(GraphExec *exec, Graph graph, unsigned long long) {
  ENTER(hipGraphInstantiateWithFlags);
  *exec = new GraphExecHandle{graph->graph};
  std::lock_guard lock(state().mutex);
  ++state().control.liveGraphs;
  return result::success;
}

Result hipGraphUpload(GraphExec, Stream) {
  ENTER(hipGraphUpload);
  return result::success;
}

Result hipGraphLaunch(GraphExec exec, Stream stream) {
  ENTER(hipGraphLaunch);
  return enqueue("hipGraphLaunch", stream, [=](heddle::Stream &own) { own.launch(*exec->graph); });
}

Result hipGraphExecDestroy(GraphExec exec) {
  ENTER(hipGraphExecDestroy);
  delete exec;
  std::lock_guard lock(state().mutex);
  --state().control.liveGraphs;
  return result::success;
}

Result hipGraphDestroy(Graph graph) {
  ENTER(hipGraphDestroy);
  delete graph;
  std::lock_guard lock(state().mutex);
  --state().control.liveGraphs;
  return result::success;
}

Result hipEventCreateWithFlags(Event *event, unsigned) {
  ENTER(hipEventCreateWithFlags);
  *event = new EventHandle;
  std::lock_guard lock(state().mutex);
  ++state().control.liveEvents;
  return result::success;
}

Result hipEventDestroy(Event event) {
  ENTER(hipEventDestroy);
  delete event;
  std::lock_guard lock(state().mutex);
  --state().control.liveEvents;
  return result::success;
}

Result hipEventRecord(Event event, Stream stream) {
  ENTER(hipEventRecord);
  if (!event->event)
    event->event = deviceOf(stream->device).createEvent();
  return enqueue("hipEventRecord", stream, [=](heddle::Stream &own) { own.record(event->event); });
}

Result hipEventQuery(Event event) {
  ENTER(hipEventQuery);
  return !event->event || event->event->query() ? result::success : result::notReady;
}

Result hipEventSynchronize(Event event) {
  ENTER(hipEventSynchronize);
  if (event->event)
    event->event->synchronize();
  return result::success;
}

Result hipEventElapsedTime(float *milliseconds, Event start, Event end) {
  ENTER(hipEventElapsedTime);
  if (!start->event || !end->event)
    return 400; // no handle of a recorded event
  return attempt("hipEventElapsedTime", result::notReady,
                 [&] { *milliseconds = float(end->event->millisecondsSince(*start->event)); });
}

Result hipLaunchHostFunc(Stream stream, HostFunction function, void *data) {
  ENTER(hipLaunchHostFunc);
  return enqueue("hipLaunchHostFunc", stream, [=](heddle::Stream &own) { own.hostFunction([=] { function(data); }); });
}

} // extern "C"

} // namespace heddle::fake_hip
