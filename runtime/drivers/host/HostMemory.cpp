// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each allocation is a mapping of its own; what is kept here is who owns which range and when it may go.
#include "runtime/drivers/host/HostMemory.h"
#include "runtime/processes/MemoryFile.h"
#include "support/Error.h"
#include "support/SystemMemory.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace heddle {
namespace {

constexpr uint64_t alignmentBytes = 64;
constexpr uint64_t alwaysTried = uint64_t(16) << 20; ///< allocations this small are not worth a look at the machine

uint64_t roundUp(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

uint64_t pageBytes() {
  static const auto size = uint64_t(::sysconf(_SC_PAGESIZE));
  return size;
}

/// The allocation's own pages; a guard page lies on either side. It ends where they end, up to the alignment.
uint64_t mappedBytes(uint64_t sizeBytes) {
  return roundUp(std::max<uint64_t>(sizeBytes, 1), pageBytes());
}

/// The pages of an allocation, of `file` if there is one, else anonymous; null when the system gives none.
char *mapPages(uint64_t own, const FileDescriptor *file) {
  void *whole = ::mmap(nullptr, own + 2 * pageBytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (whole == MAP_FAILED)
    return nullptr;
  char *begin = static_cast<char *>(whole) + pageBytes();
  bool isMapped = file ? ::mmap(begin, own, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file->get(), 0) == begin
                       : ::mprotect(begin, own, PROT_READ | PROT_WRITE) == 0;
  if (!isMapped)
    ::munmap(whole, own + 2 * pageBytes());
  return isMapped ? begin : nullptr;
}

/// 0 when the system gives none.
uint64_t mapMemory(uint64_t sizeBytes) {
  uint64_t own = mappedBytes(sizeBytes);
  char *begin = mapPages(own, nullptr);
  if (!begin)
    return 0;
  return reinterpret_cast<uint64_t>(begin) + own - roundUp(std::max<uint64_t>(sizeBytes, 1), alignmentBytes);
}

void unmapMemory(uint64_t address, uint64_t sizeBytes) {
  uint64_t begin = address / pageBytes() * pageBytes() - pageBytes();
  ::munmap(reinterpret_cast<void *>(begin), mappedBytes(sizeBytes) + 2 * pageBytes());
}

FileDescriptor duplicateOf(const FileDescriptor &file) {
  FileDescriptor copy(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy)
    throw environmentError(fmt::format("a descriptor of shared memory: {}", std::strerror(errno)));
  return copy;
}

} // namespace

HostMemory &HostMemory::shared() {
  static auto *memory = new HostMemory; // never destroyed: an abandoned kernel may outlive main
  return *memory;
}

uint64_t HostMemory::allocate(uint64_t sizeBytes, const std::string &name, const std::string &device) {
  bool fits = sizeBytes <= alwaysTried || sizeBytes <= availableMemoryBytes();
  uint64_t address = fits ? mapMemory(sizeBytes) : 0;
  if (!address)
    throw outOfMemory(device, name, sizeBytes, availableMemoryBytes());
  std::lock_guard lock(mutex);
  return add({address, sizeBytes, name, device});
}

/// Called with the mutex held.
uint64_t HostMemory::add(HostAllocation allocation) {
  uint64_t address = allocation.address;
  live[address] = std::move(allocation);
  latest.reset();
  return address;
}

uint64_t HostMemory::addShared(FileDescriptor file, bool imported, HostAllocation allocation) {
  char *begin = mapPages(mappedBytes(allocation.sizeBytes), &file);
  if (imported) // the mapping suffices, and files are few
    file.reset();
  if (!begin)
    throw environmentError(
        fmt::format("{}: {} bytes of shared memory cannot be mapped", allocation.device, allocation.sizeBytes));
  allocation.address = reinterpret_cast<uint64_t>(begin);
  std::lock_guard lock(mutex);
  files[allocation.address] = {std::move(file), imported};
  return add(std::move(allocation));
}

uint64_t HostMemory::allocateShared(uint64_t sizeBytes, const std::string &name, const std::string &device) {
  if (sizeBytes > alwaysTried && sizeBytes > availableMemoryBytes())
    throw outOfMemory(device, name, sizeBytes, availableMemoryBytes());
  return addShared(createMemoryFile("heddle-memory", mappedBytes(sizeBytes)), false, {0, sizeBytes, name, device});
}

FileDescriptor HostMemory::fileOf(uint64_t address) {
  std::lock_guard lock(mutex);
  auto found = files.find(address);
  if (found == files.end())
    throw inputError(fmt::format("the memory at {:#x} is not shared between processes", address));
  return duplicateOf(found->second.file);
}

HostMemory::FileRange HostMemory::fileOfRange(uint64_t address, uint64_t sizeBytes) {
  auto map = snapshot();
  Allocation found = requireAllocation(*map, "share", address, sizeBytes);
  std::lock_guard lock(mutex);
  auto shared = files.find(found.address);
  if (shared == files.end() || shared->second.imported)
    throw inputError(fmt::format("share: {} bytes at {:#x} are {}, which no other process can map", sizeBytes, address,
                                 shared == files.end() ? "ordinary memory of the host" : "memory of another process"),
                     {"allocate memory for windows by the communicator"});
  return {duplicateOf(shared->second.file), found.sizeBytes, address - found.address};
}

uint64_t HostMemory::map(const FileDescriptor &file, uint64_t sizeBytes, const std::string &name,
                         const std::string &device) {
  checkMemoryFile(file, mappedBytes(sizeBytes), "another process");
  return addShared(duplicateOf(file), true, {0, sizeBytes, name, device});
}

uint64_t HostMemory::free(uint64_t address) noexcept {
  std::lock_guard lock(mutex);
  auto found = live.find(address);
  if (found == live.end())
    return 0;
  uint64_t sizeBytes = found->second.sizeBytes;
  live.erase(found);
  auto shared = files.find(address);
  bool imported = shared != files.end() && shared->second.imported;
  if (shared != files.end())
    files.erase(shared);
  latest.reset();
  if (openTickets.empty())
    unmapMemory(address, sizeBytes);
  else
    retired.push_back({nextTicket, address, sizeBytes});
  return imported ? 0 : sizeBytes;
}

void HostMemory::adopt(HostAllocation allocation) {
  std::lock_guard lock(mutex);
  adopted.add(std::move(allocation));
  latest.reset();
}

void HostMemory::leave(uint64_t address, uint64_t sizeBytes) noexcept {
  std::lock_guard lock(mutex);
  adopted.remove(address, sizeBytes);
  latest.reset();
}

std::shared_ptr<const HostMap> HostMemory::snapshot() {
  std::lock_guard lock(mutex);
  if (!latest) {
    HostMap map;
    for (const auto &[address, allocation] : live)
      map.push_back(allocation);
    latest = std::make_shared<const HostMap>(adopted.joinedTo(std::move(map)));
  }
  return latest;
}

std::string HostMemory::describeAddress(uint64_t address) {
  return heddle::describeAddress(*snapshot(), address);
}

void HostMemory::checkRange(const char *operation, uint64_t address, uint64_t sizeBytes) {
  requireAllocation(*snapshot(), operation, address, sizeBytes);
}

uint64_t HostMemory::openTicket() {
  std::lock_guard lock(mutex);
  openTickets.insert(openTickets.end(), nextTicket);
  return nextTicket++;
}

void HostMemory::closeTicket(uint64_t number) {
  std::lock_guard lock(mutex);
  openTickets.erase(number);
  uint64_t oldest = openTickets.empty() ? nextTicket : *openTickets.begin();
  std::erase_if(retired, [&](const Retired &each) {
    if (each.before > oldest)
      return false;
    unmapMemory(each.address, each.sizeBytes);
    return true;
  });
}

HostMemory::Ticket::Ticket() : number(HostMemory::shared().openTicket()) {}
HostMemory::Ticket::~Ticket() {
  HostMemory::shared().closeTicket(number);
}

} // namespace heddle
