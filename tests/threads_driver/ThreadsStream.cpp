// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks a launch and makes the command that starts it.
#include "tests/threads_driver/ThreadsStream.h"
#include "runtime/Device.h"
#include "support/Error.h"
#include "tests/threads_driver/TensorMaps.h"
#include <fmt/format.h>

using namespace heddle;
using namespace heddle::threads;

ThreadsStream::ThreadsStream(std::shared_ptr<Device> device)
    : SteppedStream(std::move(device), Engine::shared(), std::make_unique<ThreadsQueue>()) {}

SteppedStream::Start ThreadsStream::prepare(const heddle::Launch &launch) {
  constexpr int64_t mostCooperative = 512, residentOtherwise = 16;
  auto module = std::dynamic_pointer_cast<ThreadsModule>(launch.kernel.module);
  if (!module)
    throw inputError(
        fmt::format("kernel `{}` was loaded on a device of another driver", launch.kernel.package().kernel));
  int64_t blocks = launch.grid[0] * launch.grid[1] * launch.grid[2];
  if (launch.cooperative && blocks > mostCooperative)
    throw inputError(fmt::format("kernel `{}`: a cooperative launch of {} blocks; {} runs at most {} at once",
                                 launch.kernel.package().kernel, blocks, device->name(), mostCooperative));
  threads::Launch what;
  what.grid = {uint32_t(launch.grid[0]), uint32_t(launch.grid[1]), uint32_t(launch.grid[2])};
  what.block.x = uint32_t(module->package().threads);
  what.dynamicSharedBytes = uint32_t(module->package().sharedBytes);
  what.arguments = argumentSlots(launch);
  what.tensorMaps = encodeTensorMaps(module->package(), what.arguments);
  what.arguments.push_back(0); // the launch's record (binary/CudaAbi.h)
  unsigned resident = unsigned(launch.cooperative ? blocks : residentOtherwise);
  return [module, what, resident, &own = static_cast<ThreadsQueue &>(*queue)] {
    auto rank = std::make_unique<Rank>();
    rank->program = module->program;
    rank->index = own.ordinal;
    rank->name = own.device;
    rank->residentBlocks = resident;
    rank->launch = what;
    return Engine::shared().startLaunch(own, std::move(rank));
  };
}
