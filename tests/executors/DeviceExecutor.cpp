// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A device as an executor: compiles the text for its chip, loads the package, copies the buffers in, launches, copies
// them back. The one place where the tests' executors meet compiler and runtime.
#include "chips/Chip.h"
#include "compiler/pipeline/Compile.h"
#include "runtime/Driver.h"
#include "runtime/Launch.h"
#include "runtime/Stream.h"
#include "support/Error.h"
#include "tests/executors/Executor.h"

using namespace heddle;

namespace {

class DeviceExecutor : public executors::Executor {
public:
  DeviceExecutor(const std::string &name, executors::DeviceOptions options)
      : device(openDevice(name)), stream(device->createStream()), options(options) {}

  std::string name() const override { return device->name() + (options.checked ? " with bounds checks" : ""); }

  void run(const std::string &moduleText, const reference::Grid &grid,
           std::vector<reference::Argument> &arguments) override {
    load(moduleText);
    Launch launch;
    launch.kernel.module = module;
    launch.cooperative = options.cooperative;
    launch.grid = {grid.x, grid.y, grid.z};
    std::vector<Buffer> buffers;
    for (const reference::Argument &argument : arguments) {
      if (!argument.isBuffer) {
        launch.arguments.push_back(ScalarBits{argument.bits});
        continue;
      }
      buffers.push_back(device->allocate(argument.bytes.size(), "argument " + std::to_string(launch.arguments.size())));
      stream->copyToDevice(buffers.back(), argument.bytes.data());
      launch.arguments.push_back(DeviceAddress(buffers.back()));
    }
    stream->launch(launch);
    std::exception_ptr failure;
    try {
      stream->synchronize();
    } catch (const Error &) {
      failure = std::current_exception(); // what it left is wanted all the same
    }
    auto buffer = buffers.begin();
    for (reference::Argument &argument : arguments)
      if (argument.isBuffer)
        stream->copyToHost(argument.bytes.data(), *buffer++);
    try {
      stream->synchronize();
    } catch (const Error &) {
      if (!failure)
        throw;
    }
    if (failure)
      std::rethrow_exception(failure);
  }

private:
  void load(const std::string &moduleText) {
    if (module && moduleText == loadedText)
      return;
    module.reset();
    CompileOptions compileOptions;
    compileOptions.target = device->chip().name;
    compileOptions.checkAccesses = options.checked;
    compileOptions.warps = options.warps;
    compileOptions.stages = options.stages;
    compileOptions.warpGroups = options.warpGroups;
    compileOptions.exactMath = options.exactMath;
    compileOptions.warpPipelines = parseWarpPipelines("warpPipelines", options.warpPipelines);
    module = device->loadModule(compile(moduleText, "program", compileOptions).package);
    loadedText = moduleText;
  }

  std::shared_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  executors::DeviceOptions options;
  std::shared_ptr<Module> module;
  std::string loadedText;
};

} // namespace

std::unique_ptr<executors::Executor> executors::makeDeviceExecutor(const std::string &device, DeviceOptions options) {
  return std::make_unique<DeviceExecutor>(device, options);
}
