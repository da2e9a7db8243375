// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The code object is read here too: HIP takes as many parameters as its metadata say, and cannot tell when a launch has
// fewer.
#include "runtime/drivers/hip/HipModule.h"
#include "binary/AmdPackage.h"
#include "chips/Chip.h"
#include <fmt/format.h>

namespace heddle {

HipModule::HipModule(std::shared_ptr<HipDevice> device, const Package &package, const std::array<uint32_t, 3> &shape)
    : GpuModule(std::move(device), package), shape(shape) {}

std::shared_ptr<HipModule> HipModule::load(std::shared_ptr<HipDevice> device, const Package &package) {
  const GpuContext &context = device->context();
  requireAmdPackage(package, context.name, context.chip->name);
  AmdCodeObject object = parseAmdCodeObject(package.binary, fmt::format("the code of kernel `{}`", package.kernel));
  const AmdKernel &kernel = object.kernel(package.entry);
  requireAmdArguments(package, explicitArguments(kernel));
  GpuScope scope(context);
  std::shared_ptr<HipModule> module(new HipModule(std::move(device), package, workgroupShape(package, kernel)));
  module->image = std::make_shared<const std::string>(package.binary);
  module->loadCode();
  module->findEntry();
  module->checkLimits();
  return module;
}

/// HIP takes no copy of the image, and does not say how long it reads it.
void HipModule::loadCode() {
  const auto &api = static_cast<const HipApi &>(context().api);
  gpu::Result result = gpu::result::success;
  context().gate.whileIdle(context(), [&] { result = api.moduleLoad(&handle, image->data()); });
  if (result == gpu::result::success)
    return;
  handle = nullptr; // whatever it may have become
  throw api.error(fmt::format("{}: kernel `{}`", context().name, package().kernel), api.moduleLoad.symbol, result);
}

void HipModule::checkGrid(const Launch &launch) const {
  for (size_t i = 0; i < 3; ++i)
    if (uint64_t(launch.grid[i]) * shape[i] > UINT32_MAX)
      throw inputError(fmt::format("kernel `{}`: {} workgroups of {} work-items along {} are {} work-items, and 2^32-1 "
                                   "are the most",
                                   package().kernel, launch.grid[i], shape[i], "xyz"[i],
                                   uint64_t(launch.grid[i]) * shape[i]));
  if (launch.cooperative)
    checkCooperative(launch);
}

GpuResult HipModule::launch(const Launch &launch, gpu::Stream stream, void **parameters, bool) const {
  return launchBlocks(launch, shape, stream, parameters);
}

} // namespace heddle
