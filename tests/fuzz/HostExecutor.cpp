// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The host target as an executor: compiles the text for `host`, loads the package on a host device, copies the buffers
// in, launches, copies them back. The one place where the tests' executors meet compiler and runtime.
#include "compiler/pipeline/Compile.h"
#include "runtime/Driver.h"
#include "runtime/Launch.h"
#include "runtime/Stream.h"
#include "tests/fuzz/Executor.h"

using namespace heddle;

namespace {

class HostExecutor : public fuzz::Executor {
public:
  explicit HostExecutor(bool checked)
      : device(openDevice("host:0")), stream(device->createStream()), checked(checked) {}

  std::string name() const override { return checked ? "host with bounds checks" : "host"; }

  void run(const std::string &moduleText, const reference::Grid &grid,
           std::vector<reference::Argument> &arguments) override {
    CompileOptions options;
    options.checkAccesses = checked;
    Launch launch;
    launch.kernel.module = device->loadModule(compile(moduleText, "program", options).package);
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
    auto buffer = buffers.begin();
    for (reference::Argument &argument : arguments)
      if (argument.isBuffer)
        stream->copyToHost(argument.bytes.data(), *buffer++);
    stream->synchronize();
  }

private:
  std::shared_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  bool checked;
};

} // namespace

std::unique_ptr<fuzz::Executor> fuzz::makeHostExecutor(bool checked) {
  return std::make_unique<HostExecutor>(checked);
}
