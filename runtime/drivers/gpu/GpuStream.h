// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Streams of GPUs. Every call returns at once, also copies of ordinary host memory, which the vendor's library
// itself would wait for: a thread that launches on several devices in turn must not wait for the first.
#pragma once
#include "runtime/Stream.h"
#include "runtime/drivers/gpu/GpuEvent.h"
#include "runtime/drivers/gpu/GpuGraph.h"
#include "runtime/drivers/gpu/GpuModule.h"

namespace heddle {

/// Work on the device after an error of a host function runs; later host functions are skipped. After an error of the
/// device itself the context is lost, and every call throws.
class GpuStream : public Stream {
public:
  explicit GpuStream(std::shared_ptr<GpuDevice> device);
  /// Over a stream of others, which may be capturing: nothing is asked of it but by calls of this one's, so the gate
  /// does not know it, and what is given back while it works may wait for it.
  GpuStream(std::shared_ptr<GpuDevice> device, gpu::Stream adopted);
  ~GpuStream() override;

  using Stream::copyToDevice, Stream::copyToHost, Stream::fill;
  void copyToDevice(uint64_t destination, const void *source, uint64_t sizeBytes) override;
  void copyToHost(void *destination, uint64_t source, uint64_t sizeBytes) override;
  void copy(uint64_t destination, uint64_t source, uint64_t sizeBytes) override;
  void fill(uint64_t destination, uint8_t value, uint64_t sizeBytes) override;
  void launch(const Launch &launch) override;
  void launch(Graph &graph) override;
  void record(const std::shared_ptr<Event> &event) override;
  void wait(const std::shared_ptr<Event> &event) override;
  void waitAcrossGraphs(const std::shared_ptr<Event> &event) override;
  void recordAcrossGraphs(const std::shared_ptr<Event> &event) override;
  void hostFunction(std::function<void()> function) override;
  void beginCapture() override;
  std::unique_ptr<Graph> endCapture() override;
  void synchronize() override;

  uint64_t captureId() override;
  uint64_t id() override;

  gpu::Stream raw() const { return handle; } ///< for other libraries of the process

private:
  GpuWork &work() { return capture ? capture->work : pending; }
  /// Calls what puts work into the stream, while nothing is given back that would wait for it.
  template <typename... Parameters, typename... Arguments>
  void enqueue(const GpuFunction<Parameters...> &function, Arguments... arguments) {
    auto admitted = gpu.gate.admit();
    work().leavesRoom = false;
    gpu.call(function, arguments...);
  }
  void *stagingMemory();
  /// The record (binary/LaunchRecord.h) for the launch that comes next: its address, and after the launch what is made
  /// of it. Called with the mutex held.
  uint64_t clearRecord();
  /// Before a launch into an adopted stream. Throws the error of an earlier launch; refuses what a capture of the
  /// stream's owner cannot contain.
  void checkAdopted(const Package &package);
  void readRecord(std::shared_ptr<GpuModule> module, std::array<int64_t, 3> grid);
  void addCall(std::function<void()> function, bool isCopy);
  bool isPinned(const void *memory, uint64_t sizeBytes) const;
  void close();

  std::shared_ptr<GpuDevice> device;
  const GpuContext &gpu;
  gpu::Stream handle = nullptr;
  bool isAdopted = false;
  std::mutex mutex;
  GpuWork pending;
  std::unique_ptr<GpuStaging> staging;
  Buffer launchRecord;                      ///< for kernels with prints or assertions, from the first on
  std::shared_ptr<GpuGraph::State> capture; ///< null when not capturing
};

} // namespace heddle
