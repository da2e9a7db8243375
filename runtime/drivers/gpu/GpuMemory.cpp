// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of buffers of all devices; memory is given back when the GPU is idle.
#include "runtime/drivers/gpu/GpuMemory.h"
#include "runtime/Device.h"
#include "runtime/drivers/gpu/GpuGate.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle {

uint64_t GpuMemory::allocate(const GpuContext &context, uint64_t sizeBytes, const std::string &name, Caching caching) {
  context.gate.collect();
  GpuScope scope(context);
  const GpuApi &api = context.api;
  gpu::Address address = 0;
  size_t wanted = std::max<uint64_t>(1, sizeBytes);
  GpuResult done = api.allocate(&address, wanted, caching);
  if (done.result == gpu::result::outOfMemory && context.gate.collectAfterWaiting())
    done = api.allocate(&address, wanted, caching);
  if (done.result == gpu::result::outOfMemory) {
    size_t freeBytes = 0, totalBytes = 0;
    context.call(api.memoryGetInfo, &freeBytes, &totalBytes);
    std::vector<std::string> notes = {
        fmt::format("the device has {} bytes in all; other processes may use some", totalBytes)};
    if (context.sharers > 1)
      notes = {fmt::format("the GPU has {} bytes in all, and {} devices share it (HEDDLE_DEVICES_PER_GPU)", totalBytes,
                           context.sharers)};
    throw outOfMemory(context.name, name, sizeBytes, freeBytes, notes, kindOfMemory(caching));
  }
  if (done.result)
    api.check(fmt::format("{}: {} bytes{}{}", context.name, sizeBytes, kindOfMemory(caching),
                          name.empty() ? "" : " for buffer `" + name + "`"),
              done);
  add(context, {address, sizeBytes, name, context.name},
      [context = &context, address] { context->giveBack(context->api.memoryFree, address); });
  return address;
}

void GpuMemory::add(const GpuContext &context, Allocation allocation, std::function<void()> release) {
  std::lock_guard lock(mutex);
  uint64_t address = allocation.address;
  if (auto found = live.find(address); found != live.end()) {
    found->second.release = [first = std::move(found->second.release), second = std::move(release)] {
      first();
      second();
    };
    ++found->second.uses;
    return;
  }
  live[address] = {std::move(allocation), &context, std::move(release)};
  latest.reset();
}

void GpuMemory::retire(uint64_t address) noexcept {
  const GpuContext *context = nullptr;
  std::function<void()> release;
  {
    std::lock_guard lock(mutex);
    auto found = live.find(address);
    if (found == live.end() || --found->second.uses > 0)
      return;
    context = found->second.context;
    release = std::move(found->second.release);
    live.erase(found);
    latest.reset();
  }
  context->gate.whenIdle(std::move(release));
}

void GpuMemory::adopt(const GpuContext &context, Allocation allocation) {
  std::lock_guard lock(mutex);
  adopters[context.name] = &context;
  adopted.add(std::move(allocation));
  latest.reset();
}

void GpuMemory::leave(uint64_t address, uint64_t sizeBytes) noexcept {
  std::lock_guard lock(mutex);
  adopted.remove(address, sizeBytes);
  latest.reset();
}

std::shared_ptr<const AllocationMap> GpuMemory::snapshot() {
  std::lock_guard lock(mutex);
  if (!latest) {
    AllocationMap map;
    for (const auto &[address, entry] : live)
      map.push_back(entry.allocation);
    latest = std::make_shared<const AllocationMap>(adopted.joinedTo(std::move(map)));
  }
  return latest;
}

const GpuContext *GpuMemory::contextOf(uint64_t address) {
  auto map = snapshot();
  const Allocation *found = findAllocation(*map, address, 0);
  std::lock_guard lock(mutex);
  if (!found)
    return nullptr;
  auto own = live.find(found->address);
  return own != live.end() ? own->second.context : adopters[found->device];
}

} // namespace heddle
