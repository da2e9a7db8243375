// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fake libcuda: memory that processes share. It is in memory files, so that real processes can play: physical
// memory is a file, an export its descriptor, a mapping a mapping; a legacy handle names the file by its process and
// number.
#include "tests/fake_cuda/FakeCudaState.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace heddle::fake {
namespace {

constexpr size_t granule = size_t(2) << 20;

struct Physical {
  int file;
  size_t bytes;
};
std::map<cuda::MemoryHandle, Physical> &handles() {
  static auto *all = new std::map<cuda::MemoryHandle, Physical>;
  return *all;
}

/// Of a legacy handle.
struct Named {
  int pid, file;
  size_t bytes;
};

int fileOf(size_t bytes) {
  int file = ::memfd_create("fake-cuda", MFD_CLOEXEC);
  return ::ftruncate(file, off_t(bytes)) == 0 ? file : -1;
}

void enterMemory(Address address, size_t bytes, void (*free)(void *) noexcept = [](void *) noexcept {}) {
  Allocation made{bytes, {pointerTo<void>(address), free}};
  state().memory.emplace(address, std::pair(std::move(made), currentDevice()));
}

Result mapFile(int file, Address address, size_t bytes) {
  int flags = MAP_SHARED | (address ? MAP_FIXED : 0);
  void *place = ::mmap(pointerTo<void>(address), bytes, PROT_READ | PROT_WRITE, flags, file, 0);
  return place == MAP_FAILED ? result::invalidValue : result::success;
}

void freeNamed(void *place) noexcept {
  auto found = state().namedFiles.extract(Address(place));
  ::munmap(place, found.mapped().second);
  ::close(found.mapped().first);
}

} // namespace

Result countReservation(int by) {
  state().control.liveReservations += by;
  return result::success;
}

Result allocateInFile(Address *address, size_t bytes) {
  int file = fileOf(bytes);
  void *place = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file < 0 || place == MAP_FAILED)
    return result::outOfMemory;
  *address = Address(place);
  state().namedFiles[*address] = {file, bytes};
  enterMemory(*address, bytes, freeNamed);
  return count(&FakeGpu::liveAllocations, 1);
}

extern "C" {

Result deviceGetUuid(cuda::DeviceId *id, DeviceNumber device) {
  ENTER(deviceGetUuid);
  std::memset(id->bytes, 0, sizeof id->bytes);
  id->bytes[0] = char(0xFA);
  id->bytes[15] = char(state().control.firstUuid + device);
  return result::success;
}

Result memoryGranularity(size_t *bytes, const cuda::MemoryProperties *, int) {
  ENTER(memoryGranularity);
  *bytes = granule;
  return result::success;
}

Result memoryCreate(cuda::MemoryHandle *handle, size_t bytes, const cuda::MemoryProperties *wanted,
                    unsigned long long) {
  ENTER(memoryCreate);
  if (bytes == 0 || bytes % granule || wanted->type != cuda::memory::pinned ||
      wanted->handleTypes != cuda::memory::fileDescriptor || wanted->location.type != cuda::memory::onDevice)
    return result::invalidValue;
  if (bytes > memoryInfo().freeBytes)
    return result::outOfMemory;
  *handle = ++state().lastHandle;
  handles()[*handle] = {fileOf(bytes), bytes};
  return count(&FakeGpu::liveAllocations, 1);
}

Result memoryRelease(cuda::MemoryHandle handle) {
  ENTER(memoryRelease);
  auto found = handles().extract(handle);
  if (found.empty())
    return result::invalidValue;
  ::close(found.mapped().file);
  return count(&FakeGpu::liveAllocations, -1);
}

Result memoryExport(void *shareable, cuda::MemoryHandle handle, int type, unsigned long long) {
  ENTER(memoryExport);
  if (!handles().count(handle) || type != cuda::memory::fileDescriptor)
    return result::invalidValue;
  *static_cast<int *>(shareable) = ::dup(handles()[handle].file);
  return result::success;
}

Result memoryImport(cuda::MemoryHandle *handle, void *shareable, int type) {
  ENTER(memoryImport);
  struct stat facts{};
  int file = ::dup(int(reinterpret_cast<uintptr_t>(shareable)));
  if (type != cuda::memory::fileDescriptor || file < 0 || ::fstat(file, &facts) != 0)
    return result::invalidValue;
  *handle = ++state().lastHandle;
  handles()[*handle] = {file, size_t(facts.st_size)};
  return count(&FakeGpu::liveAllocations, 1);
}

Result addressReserve(Address *address, size_t bytes, size_t, Address, unsigned long long) {
  ENTER(addressReserve);
  void *place = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *address = Address(place);
  return place == MAP_FAILED ? result::outOfMemory : countReservation(1);
}

Result addressFree(Address address, size_t bytes) {
  ENTER(addressFree);
  ::munmap(pointerTo<void>(address), bytes);
  return countReservation(-1);
}

Result memoryMap(Address address, size_t bytes, size_t offset, cuda::MemoryHandle handle, unsigned long long) {
  ENTER(memoryMap);
  auto found = handles().find(handle);
  if (found == handles().end() || offset || bytes > found->second.bytes)
    return result::invalidValue;
  enterMemory(address, bytes);
  return mapFile(found->second.file, address, bytes);
}

Result memoryUnmap(Address address, size_t bytes) {
  ENTER(memoryUnmap);
  waitForTheDevice(symbol::memoryUnmap);
  ::mmap(pointerTo<void>(address), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  return state().memory.erase(address) ? result::success : result::invalidValue;
}

Result memorySetAccess(Address address, size_t, const cuda::MemoryAccess *access, size_t entries) {
  ENTER(memorySetAccess);
  bool isOwn = entries == 1 && access->location.type == cuda::memory::onDevice &&
               access->location.id == currentDevice() && access->access == cuda::memory::readWrite;
  return isOwn && state().memory.count(address) ? result::success : result::invalidValue;
}

Result ipcGetHandle(cuda::IpcHandle *handle, Address address) {
  ENTER(ipcGetHandle);
  auto found = state().namedFiles.find(address);
  if (found == state().namedFiles.end())
    return result::invalidValue;
  Named named{::getpid(), found->second.first, found->second.second};
  std::memset(handle->bytes, 0, sizeof handle->bytes);
  std::memcpy(handle->bytes, &named, sizeof named);
  return result::success;
}

Result ipcOpenHandle(Address *address, cuda::IpcHandle handle, unsigned) {
  ENTER(ipcOpenHandle);
  Named named{};
  std::memcpy(&named, handle.bytes, sizeof named);
  std::string path = "/proc/" + std::to_string(named.pid) + "/fd/" + std::to_string(named.file);
  int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  void *place = file < 0 ? MAP_FAILED : ::mmap(nullptr, named.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0)
    ::close(file);
  if (place == MAP_FAILED)
    return result::invalidValue;
  *address = Address(place);
  enterMemory(*address, named.bytes);
  return countReservation(1);
}

Result ipcCloseHandle(Address address) {
  ENTER(ipcCloseHandle);
  waitForTheDevice(symbol::ipcCloseHandle);
  auto found = state().memory.extract(address);
  if (found.empty())
    return result::invalidValue;
  ::munmap(pointerTo<void>(address), found.mapped().first.bytes);
  return countReservation(-1);
}

} // extern "C"

} // namespace heddle::fake
