// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keeps calls between the begin and the end of a capture, and makes them again for each launch.
#include "runtime/RecordingStream.h"
#include "support/Error.h"
#include <atomic>

namespace heddle {

bool RecordingStream::recordCall(RecordedGraph::Call call) {
  std::lock_guard lock(captureMutex);
  if (capture)
    capture->add(std::move(call));
  return capture != nullptr;
}

void RecordingStream::requireNoCapture() const {
  std::lock_guard lock(captureMutex);
  if (capture)
    throw inputError(device + ": a stream that is being captured cannot be waited for", {"end the capture first"});
}

void RecordingStream::launch(Graph &graph) {
  auto *recorded = dynamic_cast<RecordedGraph *>(&graph);
  if (!recorded)
    throw inputError("the graph belongs to a stream of another driver");
  {
    std::lock_guard lock(captureMutex);
    if (capture)
      throw inputError(device + ": a graph cannot be launched into a capture");
  }
  recorded->replay(*this);
}

void RecordingStream::beginCapture() {
  std::lock_guard lock(captureMutex);
  if (capture)
    throw inputError(device + ": the stream is being captured already");
  static std::atomic<uint64_t> captures = 0;
  capture = std::make_unique<RecordedGraph>();
  captureNumber = ++captures;
}

uint64_t RecordingStream::captureId() {
  std::lock_guard lock(captureMutex);
  return capture ? captureNumber : 0;
}

std::unique_ptr<Graph> RecordingStream::endCapture() {
  std::lock_guard lock(captureMutex);
  if (!capture)
    throw inputError(device + ": the stream is not being captured");
  return std::move(capture);
}

} // namespace heddle
