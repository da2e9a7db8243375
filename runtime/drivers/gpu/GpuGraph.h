// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What work in a stream or a graph needs until it has run: host functions and their errors, kernels, pinned memory.
#pragma once
#include "runtime/Graph.h"
#include "runtime/drivers/gpu/GpuDriver.h"
#include "runtime/drivers/gpu/GpuStaging.h"
#include <atomic>
#include <deque>
#include <exception>
#include <functional>
#include <set>

namespace heddle {

/// The first exception of the host functions of a stream or a graph.
class GpuErrors {
public:
  void keep(std::exception_ptr error);
  bool failed() const;
  std::exception_ptr take();

private:
  mutable std::mutex mutex;
  std::exception_ptr first;
};

/// One call in a stream, which the driver makes on a thread of its own.
struct GpuHostCall {
  std::function<void()> function;
  std::shared_ptr<GpuErrors> errors;
  bool isCopy; ///< part of a copy, which also runs after an error
  std::atomic<bool> done = false;

  static void run(void *call);
};

/// Kept until the stream is synchronized, or while the graph lives.
struct GpuWork {
  bool leavesRoom = false; ///< what was put in last is a launch that leaves room for the one after it (GpuModule.h)
  std::shared_ptr<GpuErrors> errors = std::make_shared<GpuErrors>();
  std::deque<std::unique_ptr<GpuHostCall>> calls;
  std::set<std::shared_ptr<const void>> objects;    ///< modules, graphs, events
  std::set<std::shared_ptr<GpuErrors>> graphErrors; ///< of graphs launched

  void forgetDone(); ///< calls at the front that have run
  /// After an error of the device, which may or may not still make them: they are never freed.
  void abandonCalls();
};

class GpuGraph : public Graph {
public:
  struct State {
    explicit State(std::shared_ptr<GpuDevice> device) : device(std::move(device)) {}
    State(const State &) = delete;
    ~State();

    std::shared_ptr<GpuDevice> device;
    gpu::GraphExec handle = nullptr;
    GpuWork work;
    std::unique_ptr<GpuStaging> staging; ///< its own: it may run beside the stream that made it
    Buffer launchRecord;                 ///< likewise
  };

  explicit GpuGraph(std::shared_ptr<State> state) : content(std::move(state)) {}
  const std::shared_ptr<State> &state() const { return content; }

private:
  std::shared_ptr<State> content; ///< shared with streams where it runs
};

} // namespace heddle
