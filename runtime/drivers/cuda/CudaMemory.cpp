// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cuda/CudaMemory.h"
#include "runtime/drivers/cuda/CudaGate.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle {

uint64_t CudaMemory::allocate(const CudaContext &context, uint64_t sizeBytes, const std::string &name) {
  context.gate.collect();
  CudaScope scope(context);
  const CudaApi &api = context.api;
  cuda::Address address = 0;
  size_t wanted = std::max<uint64_t>(1, sizeBytes);
  cuda::Result result = api.memoryAllocate(&address, wanted);
  if (result == cuda::result::outOfMemory && context.gate.collectAfterWaiting())
    result = api.memoryAllocate(&address, wanted);
  if (result == cuda::result::outOfMemory) {
    size_t freeBytes = 0, totalBytes = 0;
    context.call(api.memoryGetInfo, &freeBytes, &totalBytes);
    throw outOfMemory(context.name, name, sizeBytes, freeBytes,
                      {fmt::format("the device has {} bytes in all; other processes may use some", totalBytes)});
  }
  if (result)
    throw api.error(context.name, api.memoryAllocate.symbol, result);
  std::lock_guard lock(mutex);
  live[address] = {{address, sizeBytes, name, context.name}, &context};
  latest.reset();
  return address;
}

void CudaMemory::retire(uint64_t address) noexcept {
  const CudaContext *context = nullptr;
  {
    std::lock_guard lock(mutex);
    auto found = live.find(address);
    if (found == live.end())
      return;
    context = found->second.second;
    live.erase(found);
    latest.reset();
  }
  context->gate.whenIdle([context, address] { context->giveBack(context->api.memoryFree, address); });
}

std::shared_ptr<const AllocationMap> CudaMemory::snapshot() {
  std::lock_guard lock(mutex);
  if (!latest) {
    auto map = std::make_shared<AllocationMap>();
    for (const auto &[address, entry] : live)
      map->push_back(entry.first);
    latest = std::move(map);
  }
  return latest;
}

const CudaContext *CudaMemory::contextOf(uint64_t address) {
  std::lock_guard lock(mutex);
  auto after = live.upper_bound(address);
  return after == live.begin() ? nullptr : std::prev(after)->second.second;
}

} // namespace heddle
