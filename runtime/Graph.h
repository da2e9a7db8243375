// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Work of a stream that was captured instead of run, to be launched as a whole, any number of times.
#pragma once
#include <functional>
#include <vector>

namespace heddle {

class Stream;

/// Made by Stream::endCapture. Kernels, host functions and events in it are kept; buffers and host memory that it uses
/// are the caller's to keep until its last launch has run.
class Graph {
public:
  virtual ~Graph();
};

/// For drivers without graphs of their own: the calls, to be made again.
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

} // namespace heddle
