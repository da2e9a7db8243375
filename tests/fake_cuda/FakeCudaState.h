// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The inside of the fake libcuda: its state, and what every entry point begins with. Only its sources include this.
#pragma once
#include "runtime/drivers/cuda/CudaApi.h"
#include "tests/fake_cuda/FakeCuda.h"
#include "tests/fake_gpu/FakeGpuState.h"
#include <cstring>
#include <deque>
#include <functional>

namespace heddle::fake {

using CapturedGraph = std::vector<std::function<void()>>;

template <typename T>
T *pointerTo(Address address) {
  return reinterpret_cast<T *>(address);
}

} // namespace heddle::fake

namespace heddle::gpu {

struct GraphHandle {
  std::shared_ptr<fake::CapturedGraph> graph;
};
struct GraphExecHandle : GraphHandle {};
struct StreamHandle {
  const int device = fake::currentDevice();
  std::shared_ptr<fake::CapturedGraph> capture = nullptr;
  GraphHandle graph = {};         ///< that is being captured
  const void *frontier = nullptr; ///< the latest node of the capture
  const uint64_t id;
  uint64_t captureId = 0;

  StreamHandle();
  static void *operator new(size_t bytes); ///< the memory of the last one that was deleted, as CUDA may do
  static void operator delete(void *memory);

  ~StreamHandle();
  bool isCapturing() const { return capture != nullptr; }
  Result beginCapture();
  std::shared_ptr<fake::CapturedGraph> endCapture();
  Result synchronize();
  /// Work of any kind is host code.
  void hostFunction(std::function<void()> work);
  void copyBytes(void *destination, const void *source, size_t bytes) {
    hostFunction([=] { std::memmove(destination, source, bytes); });
  }
  void copyToDevice(Address destination, const void *source, size_t bytes) {
    copyBytes(fake::pointerTo<void>(destination), source, bytes);
  }
  void copyToHost(void *destination, Address source, size_t bytes) {
    copyBytes(destination, fake::pointerTo<void>(source), bytes);
  }
  void copy(Address destination, Address source, size_t bytes) {
    copyToHost(fake::pointerTo<void>(destination), source, bytes);
  }
  void fill(Address destination, int value, size_t bytes) {
    hostFunction([=] { std::memset(fake::pointerTo<void>(destination), value, bytes); });
  }
  void launch(const fake::CapturedGraph &graph) {
    hostFunction([&graph] {
      for (const auto &work : graph)
        work();
    });
  }
};
struct EventHandle {
  int64_t recorded = 0, reached = 0;

  ~EventHandle();
  bool isReached() const { return reached == recorded; }
  Result synchronize();
};
struct FunctionHandle {
  std::string entry;
  std::vector<size_t> sizes;
  int staticBytes = 0, localBytes = 0, dynamicLimit = 48 * 1024;
};
struct ModuleHandle {
  std::string text;
  std::vector<std::unique_ptr<FunctionHandle>> functions;
};

} // namespace heddle::gpu

namespace heddle::cuda {

struct ContextHandle {
  int device;
};
struct LinkHandle {
  std::string text, cubin;
  char *log = nullptr;
  size_t logSize = 0;
};

} // namespace heddle::cuda

namespace heddle::fake {

using cuda::Context, cuda::Link, cuda::LinkHandle, cuda::LaunchConfig;

struct Allocation {
  size_t bytes;
  std::unique_ptr<void, decltype(&std::free)> memory;
};

struct State : GpuState {
  FakeCuda control;
  cuda::ContextHandle contexts[16];
  std::deque<std::pair<Stream, std::function<void()>>> queue;
  std::map<Address, std::pair<Allocation, int>> memory; ///< with the device
  std::map<Address, std::pair<int, size_t>> namedFiles; ///< of allocations that a legacy handle can name
  cuda::MemoryHandle lastHandle = 0;
  std::map<int, size_t> stackLimits; ///< by device; 1024 for one that is not there
  int64_t clock = 0;
};

/// Never destroyed: work may come after main.
State &state();

/// Does all work that is queued; what a kernel's error then leaves to every call.
Result drain();
size_t &stackLimit(int device);
/// For cuMemAlloc of what other processes may map.
Result allocateInFile(Address *address, size_t bytes);
/// One more, or one less.
Result countReservation(int by);

/// The stream, or the default one of the current device.
StreamHandle &streamOf(Stream stream);

template <typename Work>
Result enqueue(const char *, Stream stream, Work work) {
  work(streamOf(stream));
  return result::success;
}

#define FAKE_CUDA_DECLARE(name, exported, hipSymbol, ...) FAKE_GPU_DECLARE(name, exported, __VA_ARGS__)
HEDDLE_GPU_ENTRIES(FAKE_CUDA_DECLARE)
HEDDLE_CUDA_REQUIRED(FAKE_GPU_DECLARE)
HEDDLE_CUDA_OPTIONAL(FAKE_GPU_DECLARE)

} // namespace heddle::fake

#define ENTER(name)                                                                                                    \
  std::lock_guard lock(state().mutex);                                                                                 \
  if (Result failure = enter(symbol::name))                                                                            \
  return failure
