// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the insides of the fake libcuda and of the fake libamdhip64 share. Each adds its State, the handles
// (StreamHandle and so on), `Result enqueue(symbol, stream, work)`, and the entry points that FakeGpuEntries.h does not
// have.
#pragma once
#include "runtime/Device.h"
#include "runtime/drivers/gpu/GpuApi.h"
#include "tests/fake_gpu/FakeGpu.h"
#include <map>
#include <memory>
#include <mutex>
#include <set>

// An entry point: a function with the name of the table and the signature there, or its definition inside of extern "C"
// would not compile; the library exports it by the vendor's symbol.
#define FAKE_GPU_DECLARE(name, exported, ...)                                                                          \
  namespace symbol {                                                                                                   \
  inline constexpr const char *name = #exported;                                                                       \
  }                                                                                                                    \
  extern "C" __attribute__((visibility("default"))) Result name(__VA_ARGS__) __asm__(#exported);

namespace heddle::fake {

using gpu::Result, gpu::DeviceNumber, gpu::Address, gpu::Stream, gpu::Event, gpu::Function, gpu::Graph, gpu::GraphExec,
    gpu::HostFunction;
using gpu::StreamHandle, gpu::GraphHandle, gpu::GraphExecHandle, gpu::EventHandle, gpu::FunctionHandle,
    gpu::ModuleHandle;
namespace result = gpu::result;

struct GpuState {
  std::recursive_mutex mutex;
  std::map<Address, size_t> pinned;
  std::set<std::pair<int, int>> enabledPeers; ///< the first uses the memory of the second
};

// ---- What each fake says of itself ----

extern const char *const productName;
const std::map<Result, const char *> &errorNames();
int currentDevice();
MemoryInfo memoryInfo(); ///< of the current device
/// What is done only when the current device has nothing to do.
void waitForTheDevice(const char *symbol);
/// Null when the module has none of this name.
std::unique_ptr<FunctionHandle> findFunction(gpu::Module module, const std::string &name);
Result launch(const char *symbol, Function function, FakeLaunch launch, Stream stream, void **parameters);

// ---- What FakeGpuEntries.h says of both ----

/// What the environment says: `prefix` with DEVICES, PEERS=0 and FAIL=symbol:result.
void readEnvironment(FakeGpu &control, const std::string &prefix);
/// Counts a call; what it is to give instead of working, or success.
Result enter(const char *symbol);
/// One more, or one less.
Result count(int64_t FakeGpu::*live, int by);
/// The device of a buffer, or -1.
int ownerOf(Address address);
Result enablePeer(int peer);
Result copyPeer(Address destination, int to, Address source, int from, size_t bytes, Stream stream);

} // namespace heddle::fake
