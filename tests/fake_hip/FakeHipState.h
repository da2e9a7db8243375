// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The inside of the fake libamdhip64: its state, and what every entry point begins with. Only its sources include this.
#pragma once
#include "binary/AmdCodeObject.h"
#include "chips/Chip.h"
#include "runtime/Driver.h"
#include "runtime/Launch.h"
#include "runtime/drivers/hip/HipApi.h"
#include "runtime/stepped/SteppedStream.h"
#include "tests/fake_hip/FakeHip.h"
#include <atomic>
#include <map>
#include <mutex>
#include <set>

namespace heddle::gpu {

struct StreamHandle {
  int device = 0;
  std::unique_ptr<heddle::Stream> stream;
  std::atomic<bool> capturing = false;
  std::atomic<int> asked = 0; ///< how often in a row whether it is idle, and it was not

  bool isIdle() const { return static_cast<SteppedStream &>(*stream).isIdle(); }
};
struct EventHandle {
  std::shared_ptr<heddle::Event> event; ///< made with its first record
};
struct GraphHandle {
  std::shared_ptr<heddle::Graph> graph;
};
struct GraphExecHandle {
  std::shared_ptr<heddle::Graph> graph;
};
struct FunctionHandle {
  ModuleHandle *module;
  AmdKernel kernel;
  std::map<std::pair<unsigned, unsigned>, std::shared_ptr<heddle::Module>> loaded; ///< by work-items and dynamic LDS
};
struct ModuleHandle {
  int device;
  std::string code;
  AmdCodeObject object;
  std::vector<std::unique_ptr<FunctionHandle>> functions;
};

} // namespace heddle::gpu

namespace heddle::fake_hip {

using namespace heddle::hip;
using gpu::Result, gpu::DeviceNumber, gpu::Address, gpu::Stream, gpu::Event, gpu::Module, gpu::Function, gpu::Graph,
    gpu::GraphExec, gpu::HostFunction;
using gpu::StreamHandle, gpu::GraphHandle, gpu::GraphExecHandle, gpu::EventHandle, gpu::FunctionHandle,
    gpu::ModuleHandle;
namespace result = gpu::result;

struct State {
  std::mutex mutex; ///< never held while devices run: they call host functions
  FakeHip control;
  std::map<std::string, std::shared_ptr<Driver>> drivers;                         ///< by chip; not those of the program
  std::map<std::pair<std::string, int>, std::shared_ptr<heddle::Device>> devices; ///< by chip and number
  std::map<Address, std::pair<Buffer, int>> memory;                               ///< with the device
  std::map<const char *, size_t> pinned;
  std::set<std::pair<int, int>> enabledPeers;
  std::set<Stream> streams;
};

/// Never destroyed: work may come after main.
State &state();
extern thread_local int current;

heddle::Device &deviceOf(int number);
/// The device of a buffer, or -1.
int ownerOf(Address address);
/// Counts a call; what it is to give instead of working, or success.
Result enter(const char *symbol);
/// Does what the call is for. An Error becomes `code`, and its text goes to standard error, as a HIP runtime's does.
Result attempt(const char *symbol, Result code, const std::function<void()> &work);
/// An error of a kernel: every later call gives it too.
Result lose(const Error &error);
/// What HIP does only when the current device has nothing to do.
void waitForTheDevice(const char *symbol);
/// Waits until the stream is idle.
Result drain(Stream stream);

// The entry points have the signatures of the tables, or their definitions would not compile.
#define FAKE_HIP_DECLARE(name, symbol, ...)                                                                            \
  extern "C" __attribute__((visibility("default"))) Result symbol(__VA_ARGS__);
#define FAKE_GPU_DECLARE(name, cudaSymbol, symbol, ...) FAKE_HIP_DECLARE(name, symbol, __VA_ARGS__)
HEDDLE_GPU_ENTRIES(FAKE_GPU_DECLARE)
HEDDLE_HIP_ENTRIES(FAKE_HIP_DECLARE)
HEDDLE_HIP_OPTIONAL(FAKE_HIP_DECLARE)

} // namespace heddle::fake_hip

#define ENTER(symbol)                                                                                                  \
  if (Result failure = enter(#symbol))                                                                                 \
  return failure
