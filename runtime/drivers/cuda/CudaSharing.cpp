// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory of a GPU that several processes map: by file descriptor (physical memory of cuMemCreate, which lives until the
// last mapping is gone), or by the older handle of 64 bytes, for drivers and containers without the former.
#include "runtime/drivers/cuda/CudaDriver.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>

namespace heddle {
namespace {

/// A driver puts small allocations of one process into one block of this size, and a handle gives all of it away.
constexpr uint64_t handleGranule = uint64_t(2) << 20;

cuda::MemoryProperties propertiesOf(const GpuContext &context) {
  cuda::MemoryProperties properties{};
  properties.type = cuda::memory::pinned;
  properties.handleTypes = cuda::memory::fileDescriptor;
  properties.location = {cuda::memory::onDevice, context.number};
  return properties;
}

std::string placeOf(const GpuContext &context, uint64_t sizeBytes, const std::string &name) {
  return fmt::format("{}: {} bytes shared between processes{}", context.name, sizeBytes,
                     name.empty() ? "" : " for buffer `" + name + "`");
}

uint64_t roundUp(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Returns a handle to the driver; mappings keep the memory.
class HandleScope {
public:
  HandleScope(const CudaApi &api, cuda::MemoryHandle handle) : api(api), handle(handle) {}
  HandleScope(const HandleScope &) = delete;
  ~HandleScope() { api.memoryRelease(handle); }

private:
  const CudaApi &api;
  cuda::MemoryHandle handle;
};

void unmap(const GpuContext &context, uint64_t address, uint64_t mappedBytes) {
  const auto &api = static_cast<const CudaApi &>(context.api);
  context.giveBack([&](uint64_t place) { return api.memoryUnmap(place, mappedBytes); }, address);
  context.giveBack([&](uint64_t place) { return api.addressFree(place, mappedBytes); }, address);
}

} // namespace

std::vector<SharingKind> CudaDevice::sharing() const {
  const CudaApi &cuda = api();
  std::vector<SharingKind> kinds;
  int hasMemory = 0, hasDescriptors = 0;
  bool hasEntries = cuda.memoryGranularity && cuda.memoryCreate && cuda.memoryRelease && cuda.memoryExport &&
                    cuda.memoryImport && cuda.addressReserve && cuda.addressFree && cuda.memoryMap &&
                    cuda.memoryUnmap && cuda.memorySetAccess;
  if (hasEntries &&
      cuda.deviceGetAttribute(&hasMemory, cuda::attribute::virtualMemory, context().number) == cuda::result::success &&
      cuda.deviceGetAttribute(&hasDescriptors, cuda::attribute::memoryDescriptors, context().number) ==
          cuda::result::success &&
      hasMemory && hasDescriptors)
    kinds.push_back(SharingKind::CudaDescriptor);
  if (cuda.ipcGetHandle && cuda.ipcOpenHandle && cuda.ipcCloseHandle)
    kinds.push_back(SharingKind::CudaHandle);
  return kinds;
}

std::string CudaDevice::hardwareId() const {
  cuda::DeviceId id{};
  if (!api().deviceGetUuid || api().deviceGetUuid(&id, context().number) != cuda::result::success)
    return "";
  std::string text = "GPU-";
  for (size_t i = 0; i < sizeof id.bytes; ++i)
    text += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uint8_t(id.bytes[i]));
  if (context().sharers > 1) // each of the devices that share a GPU may be a process's
    text += fmt::format("/{}", context().ordinal);
  return text;
}

uint64_t CudaDevice::granuleOf(uint64_t sizeBytes) const {
  size_t granule = 0;
  cuda::MemoryProperties properties = propertiesOf(context());
  context().call(api().memoryGranularity, &granule, &properties, cuda::memory::minimumGranularity);
  return roundUp(std::max<uint64_t>(1, sizeBytes), std::max<size_t>(1, granule));
}

/// At a fresh address, for kernels and copies of this device.
uint64_t CudaDevice::mapHandle(cuda::MemoryHandle handle, uint64_t sizeBytes, const std::string &where) const {
  cuda::Address address = 0;
  api().call(where, api().addressReserve, &address, size_t(sizeBytes), size_t(0), cuda::Address(0), 0ull);
  try {
    api().call(where, api().memoryMap, address, size_t(sizeBytes), size_t(0), handle, 0ull);
    try {
      cuda::MemoryAccess access{{cuda::memory::onDevice, context().number}, cuda::memory::readWrite};
      api().call(where, api().memorySetAccess, address, size_t(sizeBytes), &access, size_t(1));
    } catch (...) {
      api().memoryUnmap(address, size_t(sizeBytes));
      throw;
    }
  } catch (...) {
    api().addressFree(address, size_t(sizeBytes));
    throw;
  }
  return address;
}

void CudaDevice::noMemory(uint64_t sizeBytes, const std::string &bufferName) const {
  throw outOfMemory(context().name, bufferName, sizeBytes, memoryInfo().freeBytes,
                    {"memory that processes share is given in pieces of 2 MiB"});
}

uint64_t CudaDevice::allocateByDescriptor(uint64_t sizeBytes, const std::string &bufferName) {
  std::string where = placeOf(context(), sizeBytes, bufferName);
  uint64_t mappedBytes = granuleOf(sizeBytes);
  cuda::MemoryProperties properties = propertiesOf(context());
  cuda::MemoryHandle handle = 0;
  gpu::Result done = api().memoryCreate(&handle, size_t(mappedBytes), &properties, 0);
  if (done == cuda::result::outOfMemory && context().gate.collectAfterWaiting())
    done = api().memoryCreate(&handle, size_t(mappedBytes), &properties, 0);
  if (done == cuda::result::outOfMemory)
    noMemory(sizeBytes, bufferName);
  api().check(where, {api().memoryCreate.symbol, done});
  HandleScope scope(api(), handle);
  int file = -1;
  api().call(where, api().memoryExport, static_cast<void *>(&file), handle, cuda::memory::fileDescriptor, 0ull);
  auto descriptor = std::make_shared<FileDescriptor>(file);
  ::fcntl(file, F_SETFD, FD_CLOEXEC);
  uint64_t address = mapHandle(handle, mappedBytes, where);
  {
    std::lock_guard lock(sharingMutex);
    std::erase_if(descriptors, [](const auto &each) { return each.second.expired(); });
    descriptors[address] = descriptor;
  }
  context().memory.add(context(), {address, sizeBytes, bufferName, context().name},
                       [gpu = &context(), address, mappedBytes, descriptor] { unmap(*gpu, address, mappedBytes); });
  return address;
}

uint64_t CudaDevice::allocateByHandle(uint64_t sizeBytes, const std::string &bufferName) {
  cuda::Address address = 0;
  auto mappedBytes = size_t(roundUp(sizeBytes, handleGranule));
  GpuResult done = api().allocate(&address, mappedBytes, Caching::Normal);
  if (done.result == cuda::result::outOfMemory && context().gate.collectAfterWaiting())
    done = api().allocate(&address, mappedBytes, Caching::Normal);
  if (done.result == cuda::result::outOfMemory)
    noMemory(sizeBytes, bufferName);
  api().check(placeOf(context(), sizeBytes, bufferName), done);
  context().memory.add(context(), {address, sizeBytes, bufferName, context().name},
                       [gpu = &context(), address] { gpu->giveBack(gpu->api.memoryFree, address); });
  return address;
}

uint64_t CudaDevice::allocateShareable(uint64_t sizeBytes, const std::string &bufferName, Caching, SharingKind kind) {
  context().gate.collect();
  GpuScope scope(context());
  return kind == SharingKind::CudaDescriptor ? allocateByDescriptor(sizeBytes, bufferName)
                                             : allocateByHandle(sizeBytes, bufferName);
}

ExportedMemory CudaDevice::exportAllocation(uint64_t address, uint64_t sizeBytes) {
  GpuScope scope(context());
  ExportedMemory memory{SharingKind::CudaDescriptor, sizeBytes, "", {}};
  {
    std::lock_guard lock(sharingMutex);
    auto found = descriptors.find(address);
    if (auto file = found == descriptors.end() ? nullptr : found->second.lock()) {
      memory.file.reset(::fcntl(file->get(), F_DUPFD_CLOEXEC, 0));
      if (!memory.file)
        throw environmentError(
            fmt::format("{}: a descriptor of shared memory: {}", context().name, std::strerror(errno)));
      return memory;
    }
  }
  return exportByHandle(address, sizeBytes);
}

ExportedMemory CudaDevice::exportByHandle(uint64_t address, uint64_t sizeBytes) {
  cuda::IpcHandle handle{};
  api().call(placeOf(context(), sizeBytes, ""), api().ipcGetHandle, &handle, address);
  return {SharingKind::CudaHandle, sizeBytes, std::string(handle.bytes, sizeof handle.bytes), {}};
}

/// Whether a range is mapped from one piece of physical memory: its ends are.
bool CudaDevice::holdsOneHandle(uint64_t base, uint64_t sizeBytes, cuda::MemoryHandle handle) const {
  for (uint64_t address : {base, base + sizeBytes - 1}) {
    cuda::MemoryHandle there = 0;
    if (api().memoryRetain(&there, reinterpret_cast<void *>(address)) != cuda::result::success)
      return false;
    HandleScope scope(api(), there);
    if (there != handle)
      return false;
  }
  return true;
}

/// An allocation of another library: by descriptor if it was mapped, else by handle.
ExportedMemory CudaDevice::exportForeign(uint64_t base, uint64_t sizeBytes, const std::string &where) {
  cuda::MemoryHandle handle = 0;
  bool isMapped = api().memoryRetain && api().memoryExport && api().memoryRelease &&
                  api().memoryRetain(&handle, reinterpret_cast<void *>(base)) == cuda::result::success;
  if (!isMapped)
    return exportByHandle(base, sizeBytes);
  HandleScope scope(api(), handle);
  if (!holdsOneHandle(base, sizeBytes, handle))
    throw inputError(
        fmt::format("{}: it is mapped from several allocations, and one can be exported", where),
        {"PyTorch's `expandable_segments` map memory so: allocate memory for windows by the communicator"});
  int file = -1;
  api().call(where, api().memoryExport, static_cast<void *>(&file), handle, cuda::memory::fileDescriptor, 0ull);
  ::fcntl(file, F_SETFD, FD_CLOEXEC);
  return {SharingKind::CudaDescriptor, sizeBytes, "", FileDescriptor(file)};
}

ExportedRange CudaDevice::exportRange(uint64_t address, uint64_t sizeBytes) {
  GpuScope scope(context());
  std::string where = fmt::format("{}: sharing {} bytes at {:#x}", context().name, sizeBytes, address);
  auto known = context().memory.snapshot();
  const Allocation *own = findAllocation(*known, address, sizeBytes);
  {
    std::lock_guard lock(sharingMutex);
    auto found = own ? descriptors.find(own->address) : descriptors.end();
    if (found == descriptors.end() || found->second.expired())
      own = nullptr;
  }
  if (own)
    return {exportAllocation(own->address, own->sizeBytes), address - own->address};
  if (!api().addressRange || !api().ipcGetHandle)
    throw environmentError(where + ": this CUDA driver cannot export memory of others",
                           {"allocate memory for windows by the communicator"});
  cuda::Address base = 0;
  size_t wholeBytes = 0;
  api().call(where, api().addressRange, &base, &wholeBytes, address);
  if (sizeBytes > wholeBytes || address - base > wholeBytes - sizeBytes)
    throw inputError(fmt::format("{}: they begin at byte {} of an allocation of {} bytes, which has less", where,
                                 address - base, wholeBytes));
  return {exportForeign(base, wholeBytes, where), address - base};
}

uint64_t CudaDevice::importAllocation(const ExportedMemory &memory, const std::string &bufferName) {
  GpuScope scope(context());
  std::string where = placeOf(context(), memory.sizeBytes, bufferName);
  Allocation allocation{0, memory.sizeBytes, bufferName, context().name};
  if (memory.kind == SharingKind::CudaDescriptor) {
    if (!memory.file)
      throw environmentError(where + ": no descriptor came with it");
    uint64_t mappedBytes = granuleOf(memory.sizeBytes);
    cuda::MemoryHandle handle = 0;
    api().call(where, api().memoryImport, &handle, reinterpret_cast<void *>(uintptr_t(memory.file.get())),
               cuda::memory::fileDescriptor);
    HandleScope imported(api(), handle);
    allocation.address = mapHandle(handle, mappedBytes, where);
    context().memory.add(context(), allocation, [gpu = &context(), address = allocation.address, mappedBytes] {
      unmap(*gpu, address, mappedBytes);
    });
    return allocation.address;
  }
  cuda::IpcHandle handle{};
  if (memory.handle.size() != sizeof handle.bytes)
    throw environmentError(
        fmt::format("{}: a handle of {} bytes came, it has {}", where, memory.handle.size(), sizeof handle.bytes));
  std::memcpy(handle.bytes, memory.handle.data(), sizeof handle.bytes);
  cuda::Address address = 0;
  api().call(where, api().ipcOpenHandle, &address, handle, cuda::memory::ipcLazyPeerAccess);
  allocation.address = address;
  context().memory.add(context(), allocation,
                       [gpu = &context(), address, cuda = &api()] { gpu->giveBack(cuda->ipcCloseHandle, address); });
  return address;
}

} // namespace heddle
