// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks the limits of a kernel against its device, and how many blocks fit at once.
#include "runtime/drivers/gpu/GpuModule.h"
#include <fmt/format.h>

namespace heddle {
namespace {

Package withoutBinary(Package package) {
  package.binary.clear();
  return package;
}

} // namespace

GpuModule::GpuModule(std::shared_ptr<GpuDevice> device, const Package &package)
    : Module(withoutBinary(package)), device(std::move(device)) {}

GpuModule::~GpuModule() {
  if (!handle)
    return;
  context().gate.whenIdle([&context = context(), handle = handle, image = std::move(image)] {
    context.giveBack(context.api.moduleUnload, handle);
  });
}

void GpuModule::findEntry() {
  const GpuApi &api = context().api;
  gpu::Result result = api.moduleGetFunction(&entry, handle, package().entry.c_str());
  if (result == gpu::result::notFound)
    throw inputError(fmt::format("kernel `{}`: its binary has no entry `{}`", package().kernel, package().entry));
  api.check(context().name, {api.moduleGetFunction.symbol, result});
}

void GpuModule::checkLimits() const {
  const GpuApi &api = context().api;
  int threads = 0, registers = 0, staticBytes = 0;
  context().call(api.functionGetAttribute, &threads, gpu::function::maxThreadsPerBlock, entry);
  context().call(api.functionGetAttribute, &registers, gpu::function::registers, entry);
  context().call(api.functionGetAttribute, &staticBytes, gpu::function::sharedBytes, entry);
  if (package().threads > threads)
    throw inputError(fmt::format("kernel `{}` has {} threads in a block, and its code allows {} with {} registers each",
                                 package().kernel, package().threads, threads, registers));
  uint64_t sharedBytes = package().sharedBytes + uint64_t(staticBytes);
  if (sharedBytes > uint64_t(context().sharedBytesPerBlock))
    throw inputError(fmt::format("kernel `{}` needs {} bytes of shared memory in a block, {} has {}", package().kernel,
                                 sharedBytes, context().name, context().sharedBytesPerBlock),
                     {fmt::format("{} are dynamic, {} static", package().sharedBytes, staticBytes)});
}

int GpuModule::residentBlocksPerMultiprocessor() const {
  int blocks = residentPerMultiprocessor;
  if (blocks >= 0) // every launch of a collective needs it
    return blocks;
  GpuScope scope(context());
  context().call(context().api.maxActiveBlocks, &blocks, entry, int(package().threads), size_t(package().sharedBytes));
  residentPerMultiprocessor = blocks;
  return blocks;
}

int64_t GpuModule::residentBlocks() const {
  return int64_t(residentBlocksPerMultiprocessor()) * context().multiprocessors / context().sharers;
}

std::string GpuModule::residentText() const {
  return fmt::format("{} {} with {} blocks each", context().multiprocessors, context().api.vendor.unitWord,
                     residentBlocksPerMultiprocessor());
}

void GpuModule::checkCooperative(const Launch &launch) const {
  int64_t blocks = blocksOf(launch), resident = residentBlocks();
  if (blocks <= resident)
    return;
  Error error = inputError(fmt::format("kernel `{}`: a cooperative launch of {} blocks; {} runs at most {} at once",
                                       package().kernel, blocks, context().name, resident),
                           {residentText()});
  if (context().sharers > 1)
    error.notes.push_back(fmt::format("{} devices share the GPU (HEDDLE_DEVICES_PER_GPU)", context().sharers));
  throw error;
}

int64_t GpuModule::blocksOf(const Launch &launch) {
  return launch.grid[0] * launch.grid[1] * launch.grid[2];
}

bool GpuModule::needsWholeDevice(const Launch &launch) const {
  return launch.cooperative && context().sharers == 1 && 2 * blocksOf(launch) > residentBlocks();
}

GpuResult GpuModule::launchBlocks(const Launch &launch, const std::array<unsigned, 3> &threads, gpu::Stream stream,
                                  void **parameters) const {
  const GpuApi &api = context().api;
  auto x = unsigned(launch.grid[0]), y = unsigned(launch.grid[1]), z = unsigned(launch.grid[2]);
  auto shared = unsigned(package().sharedBytes);
  if (needsWholeDevice(launch))
    return {api.launchCooperative.symbol,
            api.launchCooperative(entry, x, y, z, threads[0], threads[1], threads[2], shared, stream, parameters)};
  return {api.launchKernel.symbol,
          api.launchKernel(entry, x, y, z, threads[0], threads[1], threads[2], shared, stream, parameters, nullptr)};
}

} // namespace heddle
