// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cuda/CudaMemory.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle {

uint64_t CudaMemory::allocate(const CudaContext &context, uint64_t sizeBytes, const std::string &name) {
  collect();
  CudaScope scope(context);
  const CudaApi &api = context.api;
  cuda::Address address = 0;
  size_t wanted = std::max<uint64_t>(1, sizeBytes);
  cuda::Result result = api.memoryAllocate(&address, wanted);
  if (result == cuda::result::outOfMemory) {
    std::lock_guard lock(callMutex);
    std::vector<Retired> waiting = takeRetired();
    if (!waiting.empty())
      waitForAll();
    giveBack(waiting);
    result = api.memoryAllocate(&address, wanted);
  }
  if (result == cuda::result::outOfMemory) {
    size_t freeBytes = 0, totalBytes = 0;
    context.call(api.memoryGetInfo, &freeBytes, &totalBytes);
    throw environmentError(fmt::format("{}: out of memory: buffer{} asks for {} bytes, {} are available", context.name,
                                       name.empty() ? "" : " `" + name + "`", sizeBytes, freeBytes),
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
  {
    std::lock_guard lock(mutex);
    auto found = live.find(address);
    if (found == live.end())
      return;
    retired.push_back({found->second.second, address});
    live.erase(found);
    latest.reset();
  }
  collect();
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

void CudaMemory::addStream(const CudaContext &context, cuda::Stream stream) {
  std::lock_guard lock(callMutex);
  streams.push_back({&context, stream});
}

void CudaMemory::removeStream(cuda::Stream stream) noexcept {
  std::lock_guard lock(callMutex);
  std::erase_if(streams, [&](const LiveStream &each) { return each.stream == stream; });
}

void CudaMemory::beginCapture(const CudaContext &context, cuda::Stream stream) {
  std::lock_guard lock(callMutex);
  context.call(context.api.streamBeginCapture, stream, cuda::captureRelaxed);
}

void CudaMemory::release(std::function<void()> action) noexcept {
  if (!insideCudaHostFunction())
    return action();
  std::lock_guard lock(mutex);
  postponed.push_back(std::move(action));
}

void CudaMemory::collect() noexcept {
  if (insideCudaHostFunction())
    return;
  runPostponed();
  std::lock_guard calls(callMutex);
  // Taken before the streams are asked: what is let go meanwhile may be in use.
  std::vector<Retired> waiting = takeRetired();
  if (waiting.empty())
    return;
  try {
    if (allIdle()) {
      giveBack(waiting);
      return;
    }
  } catch (const Error &) { // nothing can be asked of a lost context, nor of a driver that has shut down
  }
  std::lock_guard lock(mutex);
  retired.insert(retired.end(), waiting.begin(), waiting.end());
}

void CudaMemory::runPostponed() noexcept {
  std::vector<std::function<void()>> actions;
  {
    std::lock_guard lock(mutex);
    actions.swap(postponed);
  }
  for (const auto &action : actions)
    action();
}

bool CudaMemory::allIdle() {
  return std::all_of(streams.begin(), streams.end(), [](const LiveStream &each) {
    CudaScope scope(*each.context);
    int status = cuda::captureNone;
    // To ask a capturing stream whether it has work would end the capture.
    return each.context->api.streamIsCapturing(each.stream, &status) == cuda::result::success &&
           status == cuda::captureNone && each.context->api.streamQuery(each.stream) == cuda::result::success;
  });
}

std::vector<CudaMemory::Retired> CudaMemory::takeRetired() {
  std::lock_guard lock(mutex);
  return std::exchange(retired, {});
}

void CudaMemory::giveBack(const std::vector<Retired> &memory) {
  for (const Retired &each : memory) {
    CudaScope scope(*each.context);
    each.context->api.memoryFree(each.address);
  }
}

void CudaMemory::waitForAll() {
  for (const LiveStream &each : streams) {
    CudaScope scope(*each.context);
    int status = cuda::captureNone;
    each.context->call(each.context->api.streamIsCapturing, each.stream, &status);
    if (status == cuda::captureNone)
      each.context->api.streamSynchronize(each.stream); // its error stays with the stream
  }
}

} // namespace heddle
