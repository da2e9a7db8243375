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
  int uses = 1; ///< of the handle
};
std::map<cuda::MemoryHandle, Physical> &handles() {
  static auto *all = new std::map<cuda::MemoryHandle, Physical>;
  return *all;
}

/// What a range is mapped from.
struct Mapped {
  size_t bytes;
  cuda::MemoryHandle handle;
  int file;
};
std::map<Address, Mapped> &mappings() {
  static auto *all = new std::map<Address, Mapped>;
  return *all;
}

/// The entry that holds an address, or the end.
template <typename Map>
auto findHolder(Map &map, Address address, size_t (*bytesOf)(const typename Map::mapped_type &)) {
  auto after = map.upper_bound(address);
  if (after == map.begin())
    return map.end();
  auto found = std::prev(after);
  return address - found->first < bytesOf(found->second) ? found : map.end();
}

/// Of a legacy handle.
struct Named {
  int pid, file;
  size_t bytes;
};

/// By process and file: the address, and how often it was opened.
std::map<std::pair<int, int>, std::pair<Address, int>> &openHandles() {
  static auto *all = new std::map<std::pair<int, int>, std::pair<Address, int>>;
  return *all;
}

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
  auto found = handles().find(handle);
  if (found == handles().end())
    return result::invalidValue;
  if (--found->second.uses == 0) {
    ::close(found->second.file);
    handles().erase(found);
  }
  return count(&FakeGpu::liveAllocations, -1);
}

Result memoryExport(void *shareable, cuda::MemoryHandle handle, int type, unsigned long long) {
  ENTER(memoryExport);
  if (!handles().count(handle) || type != cuda::memory::fileDescriptor)
    return result::invalidValue;
  *static_cast<int *>(shareable) = ::dup(handles()[handle].file);
  return result::success;
}

/// The handle is the one that was mapped, as the guide of CUDA's driver interface has it.
Result memoryRetain(cuda::MemoryHandle *handle, void *address) {
  ENTER(memoryRetain);
  auto found = findHolder(mappings(), Address(address), [](const Mapped &each) { return each.bytes; });
  if (found == mappings().end())
    return result::invalidValue;
  *handle = found->second.handle;
  auto [known, isNew] = handles().try_emplace(*handle, Physical{-1, found->second.bytes});
  if (isNew)
    known->second.file = ::dup(found->second.file);
  else
    ++known->second.uses;
  return count(&FakeGpu::liveAllocations, 1);
}

Result addressRange(Address *base, size_t *bytes, Address address) {
  ENTER(addressRange);
  auto found =
      findHolder(state().memory, address, [](const std::pair<Allocation, int> &each) { return each.first.bytes; });
  if (found == state().memory.end())
    return result::invalidValue;
  *base = found->first, *bytes = found->second.first.bytes;
  auto mapped = mappings().find(*base);
  if (mapped == mappings().end())
    return result::success;
  // As ranges that were reserved at once are: several mappings one after the other count as one.
  for (auto before = mapped;
       before != mappings().begin() && std::prev(before)->first + std::prev(before)->second.bytes == *base;) {
    --before;
    *base = before->first, *bytes += before->second.bytes;
  }
  for (auto after = std::next(mapped); after != mappings().end() && after->first == *base + *bytes; ++after)
    *bytes += after->second.bytes;
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
  mappings()[address] = {bytes, handle, ::dup(found->second.file)};
  return mapFile(found->second.file, address, bytes);
}

Result memoryUnmap(Address address, size_t bytes) {
  ENTER(memoryUnmap);
  waitForTheDevice(symbol::memoryUnmap);
  ::mmap(pointerTo<void>(address), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (auto found = mappings().extract(address); !found.empty())
    ::close(found.mapped().file);
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
  auto known = openHandles().find({named.pid, named.file});
  if (known != openHandles().end()) { // again the same address, as CUDA does
    ++known->second.second;
    *address = known->second.first;
    return countReservation(1);
  }
  std::string path = "/proc/" + std::to_string(named.pid) + "/fd/" + std::to_string(named.file);
  int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  void *place = file < 0 ? MAP_FAILED : ::mmap(nullptr, named.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0)
    ::close(file);
  if (place == MAP_FAILED)
    return result::invalidValue;
  *address = Address(place);
  openHandles()[{named.pid, named.file}] = {*address, 1};
  enterMemory(*address, named.bytes);
  return countReservation(1);
}

Result ipcCloseHandle(Address address) {
  ENTER(ipcCloseHandle);
  waitForTheDevice(symbol::ipcCloseHandle);
  for (auto &[file, opened] : openHandles())
    if (opened.first == address && --opened.second > 0)
      return countReservation(-1);
  std::erase_if(openHandles(), [&](const auto &each) { return each.second.first == address; });
  auto found = state().memory.extract(address);
  if (found.empty())
    return result::invalidValue;
  ::munmap(pointerTo<void>(address), found.mapped().first.bytes);
  return countReservation(-1);
}

} // extern "C"

} // namespace heddle::fake
