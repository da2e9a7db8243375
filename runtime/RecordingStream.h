// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Graphs of drivers that have none of their own: the calls of a stream, kept to be made again.
#pragma once
#include "runtime/Stream.h"
#include <mutex>
#include <string>

namespace heddle {

class RecordedGraph : public Graph {
public:
  using Call = std::function<void(Stream &stream)>;
  void add(Call call) { calls.push_back(std::move(call)); }
  void replay(Stream &stream) const {
    for (const Call &call : calls)
      call(stream);
  }

private:
  std::vector<Call> calls;
};

/// What such a driver's streams derive from. Each of their calls asks recordCall when it has been checked.
class RecordingStream : public Stream {
public:
  using Stream::launch;
  void launch(Graph &graph) override;
  void beginCapture() override;
  std::unique_ptr<Graph> endCapture() override;
  uint64_t captureId() override;

protected:
  explicit RecordingStream(std::string device) : device(std::move(device)) {}
  /// While capturing, keeps the call for the graph: true.
  bool recordCall(RecordedGraph::Call call);
  /// For synchronize: throws Error{Input} while capturing.
  void requireNoCapture() const;

private:
  const std::string device; ///< for messages
  mutable std::mutex captureMutex;
  std::unique_ptr<RecordedGraph> capture; ///< null when not capturing
  uint64_t captureNumber = 0;             ///< of the latest, from 1 on
};

} // namespace heddle
