// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Work of a stream that was captured instead of run, to be launched as a whole, any number of times.
#pragma once

namespace heddle {

/// Made by Stream::endCapture. Kernels, host functions and events in it are kept; buffers and host memory that it uses
/// are the caller's to keep until its last launch has run.
class Graph {
public:
  virtual ~Graph();
};

} // namespace heddle
