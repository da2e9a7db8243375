// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The inside of the fake libcuda: its state, and what every entry point begins with. Only its sources include this.
#pragma once
#include "runtime/drivers/cuda/CudaApi.h"
#include "runtime/drivers/cuda/FakeCuda.h"
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>

namespace heddle::gpu {

struct GraphHandle {
  std::vector<std::function<void()>> work;
};
struct GraphExecHandle {
  std::vector<std::function<void()>> work;
};
struct StreamHandle {
  GraphHandle *capture = nullptr;
  int device = 0;
};
struct EventHandle {
  int64_t recorded = 0, reached = 0;
};
struct FunctionHandle {
  std::string entry;
  std::vector<size_t> sizes;
  int staticBytes = 0, localBytes = 0, dynamicLimit = 48 * 1024;
  bool anyCluster = false;
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

using namespace heddle::cuda;
using gpu::StreamHandle, gpu::GraphHandle, gpu::GraphExecHandle, gpu::EventHandle, gpu::FunctionHandle,
    gpu::ModuleHandle;

struct State {
  std::recursive_mutex mutex;
  FakeCuda control;
  ContextHandle contexts[16];
  std::deque<std::pair<StreamHandle *, std::function<void()>>> queue;
  std::map<Address, std::pair<size_t, int>> memory;
  std::map<void *, size_t> pinned;
  std::set<std::pair<int, int>> enabledPeers;
  std::map<int, size_t> stackLimits; ///< by device; 1024 for one that is not there
  int64_t clock = 0;
};

/// Never destroyed: work may come after main.
State &state();

extern thread_local ContextHandle *current;

/// Counts a call; what it is to give instead of working, or success.
Result enter(const char *symbol);
/// Does all work that is queued.
void drain();
/// What CUDA does only when the device has nothing to do.
void waitForTheDevice(const char *symbol);
size_t &stackLimit(int device);
Result enqueue(Stream stream, std::function<void()> work);
int deviceOf(Address address);

template <typename T>
T *pointerTo(Address address) {
  return reinterpret_cast<T *>(address);
}

// The entry points have the signatures of the table, or their definitions would not compile.
#define FAKE_GPU_DECLARE(name, symbol, hipSymbol, ...) FAKE_CUDA_DECLARE(name, symbol, __VA_ARGS__)
#define FAKE_CUDA_DECLARE(name, symbol, ...)                                                                           \
  extern "C" __attribute__((visibility("default"))) Result symbol(__VA_ARGS__);
HEDDLE_GPU_ENTRIES(FAKE_GPU_DECLARE)
HEDDLE_CUDA_REQUIRED(FAKE_CUDA_DECLARE)
HEDDLE_CUDA_OPTIONAL(FAKE_CUDA_DECLARE)

} // namespace heddle::fake

#define ENTER(symbol)                                                                                                  \
  std::lock_guard lock(state().mutex);                                                                                 \
  if (Result failure = enter(#symbol))                                                                                 \
  return failure
