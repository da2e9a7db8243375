// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The inside of the fake libamdhip64: its state, and what every entry point begins with. Only its sources include this.
#pragma once
#include "binary/AmdCodeObject.h"
#include "chips/Chip.h"
#include "runtime/Driver.h"
#include "runtime/Launch.h"
#include "runtime/drivers/hip/HipApi.h"
#include "runtime/stepped/SteppedStream.h"
#include "tests/fake_gpu/FakeGpuState.h"
#include "tests/fake_hip/FakeHip.h"
#include <atomic>

namespace heddle::gpu {

struct GraphHandle {
  std::shared_ptr<heddle::Graph> graph;
};
struct GraphExecHandle : GraphHandle {};
struct StreamHandle {
  StreamHandle();
  ~StreamHandle();
  bool isIdle() const { return static_cast<SteppedStream &>(*stream).isIdle(); }
  bool isCapturing() const { return capturing; }
  Result beginCapture();
  std::shared_ptr<heddle::Graph> endCapture();
  Result synchronize();

  const int device = fake::currentDevice();
  const std::unique_ptr<heddle::Stream> stream;
  std::atomic<bool> capturing = false;
  std::atomic<int> asked = 0; ///< how often in a row whether it is idle, and it was not
};
struct EventHandle {
  std::shared_ptr<heddle::Event> event; ///< made with its first record

  bool isReached() const { return !event || event->query(); }
  Result synchronize();
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

namespace heddle::fake {

struct State : GpuState { ///< whose mutex is never held while devices run: they call host functions
  FakeHip control;
  std::map<std::string, std::shared_ptr<Driver>> drivers;                         ///< by chip; not those of the program
  std::map<std::pair<std::string, int>, std::shared_ptr<heddle::Device>> devices; ///< by chip and number
  std::map<Address, std::pair<Buffer, int>> memory;                               ///< with the device
  std::set<Stream> streams;
};

/// Never destroyed: work may come after main.
State &state();

heddle::Device &deviceOf(int number);
/// Does what the call is for. An Error becomes `code`, and its text goes to standard error, as a HIP runtime's does.
Result attempt(const char *symbol, Result code, const std::function<void()> &work);
Result enqueue(const char *symbol, Stream stream, const std::function<void(heddle::Stream &)> &work);

#define FAKE_HIP_DECLARE(name, cudaSymbol, exported, ...) FAKE_GPU_DECLARE(name, exported, __VA_ARGS__)
HEDDLE_GPU_ENTRIES(FAKE_HIP_DECLARE)
HEDDLE_HIP_ENTRIES(FAKE_GPU_DECLARE)
HEDDLE_HIP_OPTIONAL(FAKE_GPU_DECLARE)

} // namespace heddle::fake

#define ENTER(name)                                                                                                    \
  if (Result failure = enter(symbol::name))                                                                            \
  return failure
