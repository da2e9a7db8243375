// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An ordered queue of work for one device.
#pragma once
#include "runtime/Event.h"
#include "runtime/Graph.h"
#include "runtime/Launch.h"
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

namespace heddle {

/// Every call but synchronize returns at once; the work runs in the order of the calls, and beside other streams.
/// What can be checked at the call (ranges, arguments, grid) throws there. The first error of the work itself is kept:
/// what follows is skipped, but for records and waits, until synchronize throws the error; after that the stream works
/// again. Destruction waits for the work and drops its error. Safe to use from several threads.
class Stream {
public:
  virtual ~Stream();

  /// Host memory must stay valid until the copy has run. Device ranges must lie inside one buffer: Error{Input}.
  virtual void copyToDevice(uint64_t destination, const void *source, uint64_t sizeBytes) = 0;
  virtual void copyToHost(void *destination, uint64_t source, uint64_t sizeBytes) = 0;
  virtual void copy(uint64_t destination, uint64_t source, uint64_t sizeBytes) = 0; ///< also between devices
  virtual void fill(uint64_t destination, uint8_t value, uint64_t sizeBytes) = 0;

  void copyToDevice(const Buffer &destination, const void *source) {
    copyToDevice(destination.address(), source, destination.sizeBytes());
  }
  void copyToHost(void *destination, const Buffer &source) {
    copyToHost(destination, source.address(), source.sizeBytes());
  }
  void fill(const Buffer &destination, uint8_t value) { fill(destination.address(), value, destination.sizeBytes()); }

  virtual void launch(const Launch &launch) = 0;
  virtual void launch(Graph &graph); ///< all the work of a graph of this driver, on its own devices
  virtual void record(const std::shared_ptr<Event> &event) = 0;
  virtual void wait(const std::shared_ptr<Event> &event) = 0; ///< until the latest record of `event` so far is reached
  /// Order between graphs, of a stream that is being captured: each time its graph runs, what comes next waits for the
  /// latest of the graphs launched before that record `event` by recordAcrossGraphs. The event serves for this alone,
  /// and is recorded once before. Of several records in one capture the last counts, and it must come after the work
  /// that the others came after. Without effect where the vendor's library has no such events.
  virtual void waitAcrossGraphs(const std::shared_ptr<Event> &event) { wait(event); }
  virtual void recordAcrossGraphs(const std::shared_ptr<Event> &event) { record(event); }
  /// Runs on a thread of the stream, or where devices are a program on that of a caller who waits for any of them, and
  /// must wait for nothing that comes later on such a thread. What it throws is an error of the stream. It must not
  /// wait for its own stream.
  virtual void hostFunction(std::function<void()> function) = 0;

  /// From here to endCapture the calls are checked and put into a graph instead of run; what one of them throws is not
  /// in it. Both on one thread. An event recorded in a capture is for waits in that capture. Work that only the capture
  /// knows of cannot be waited for: synchronize throws Error{Input}. A group of devices captures one graph for each
  /// stream. Error{Environment} where there are no graphs.
  virtual void beginCapture();
  virtual std::unique_ptr<Graph> endCapture();

  /// Blocks until everything has run; throws the first error since the last synchronize.
  virtual void synchronize() = 0;

  /// What the stream is being captured into, also by its owner: equal for streams of one capture, 0 for none.
  virtual uint64_t captureId() { return 0; }

  /// No other stream of the device ever has it, also when this one's owner has destroyed it and its handle is used
  /// again; 0 where that is not known. Not to be asked while the stream is being captured.
  virtual uint64_t id() { return 0; }
};

/// Waits for every stream, also after one that fails; the first error, or null.
std::exception_ptr synchronizeAll(const std::vector<Stream *> &streams);

} // namespace heddle
