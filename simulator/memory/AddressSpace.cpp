// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Allocates at fixed addresses with gaps, and words the errors for addresses in the gaps.
#include "simulator/memory/AddressSpace.h"
#include "simulator/state/Fault.h"
#include "support/Error.h"
#include "support/SystemMemory.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle::simulator {
namespace {

constexpr uint64_t pageBytes = 4096, lineBytes = 128;
/// So far apart that an index that is off by a whole buffer still hits the gap.
constexpr uint64_t gapBytes = uint64_t(1) << 20;

uint64_t distanceTo(const Allocation &allocation, uint64_t address) {
  if (address < allocation.base)
    return allocation.base - address;
  return address < allocation.end() ? 0 : address - allocation.end();
}

/// The neighbour that the address was meant for, or null when it is too far from both to be any's.
const Allocation *nearer(const Allocation *before, const Allocation *behind, uint64_t address) {
  const Allocation *nearest = nullptr;
  for (const Allocation *each : {before, behind})
    if (each && distanceTo(*each, address) <= gapBytes + each->sizeBytes &&
        (!nearest || distanceTo(*each, address) < distanceTo(*nearest, address)))
      nearest = each;
  return nearest;
}

} // namespace

std::string describePlace(const Allocation &allocation, uint64_t address) {
  std::string name = fmt::format("`{}`, {} bytes at 0x{:x}", allocation.name, allocation.usedBytes(), allocation.base);
  if (address < allocation.base)
    return fmt::format("{} bytes before {}", allocation.base - address, name);
  uint64_t offset = address - allocation.base;
  return offset < allocation.usedBytes()
             ? fmt::format("byte {} of {}", offset, name)
             : fmt::format("{} bytes past the end of {}", offset - allocation.usedBytes(), name);
}

uint64_t AddressSpace::reserve(uint64_t sizeBytes) {
  constexpr uint64_t all = endAddress - firstAddress;
  uint64_t needed = (std::min(sizeBytes, all) + pageBytes - 1) / pageBytes * pageBytes + gapBytes;
  bool isSecondRound = false;
  for (;;) {
    if (needed > endAddress - next) {
      if (std::exchange(isSecondRound, true))
        throw environmentError(fmt::format("out of memory: no {} addresses of simulated devices are free", sizeBytes));
      next = firstAddress;
    }
    // The first allocation that lies there, or too near.
    auto above = allocations.upper_bound(next < gapBytes ? 0 : next - gapBytes);
    if (above != allocations.begin() && std::prev(above)->second.end() + gapBytes > next)
      --above;
    if (above == allocations.end() || above->first >= next + needed)
      return std::exchange(next, next + needed);
    next = (above->second.end() + pageBytes - 1) / pageBytes * pageBytes + gapBytes;
  }
}

Allocation &AddressSpace::place(uint64_t address, uint64_t sizeBytes, const std::string &name) {
  Allocation allocation;
  allocation.base = address;
  allocation.sizeBytes = sizeBytes;
  allocation.name = name;
  uint64_t front = address % lineBytes;
  // An empty buffer has an address too.
  if (void *memory = std::calloc((front + sizeBytes) / lineBytes + 1, lineBytes))
    allocation.bytes = {static_cast<uint8_t *>(memory) + front, ReleaseMemory{front}};
  bool isLarge = sizeBytes > pageBytes * pageBytes; // asking the system is slow
  if (!allocation.bytes || (isLarge && sizeBytes > availableMemoryBytes()))
    throw environmentError(
        fmt::format("out of memory: `{}` takes {} bytes, {} are available", name, sizeBytes, availableMemoryBytes()));
  return allocations.emplace(address, std::move(allocation)).first->second;
}

Allocation &AddressSpace::allocate(uint64_t sizeBytes, const std::string &name) {
  return place(reserve(sizeBytes), sizeBytes, name);
}

void AddressSpace::free(uint64_t base) {
  std::fill(std::begin(recent), std::end(recent), nullptr);
  allocations.erase(base);
}

void AddressSpace::share(const AddressSpace &other) {
  std::fill(std::begin(recent), std::end(recent), nullptr);
  allocations.clear();
  for (const auto &[base, theirs] : other.allocations) {
    Allocation &mine = allocations[base];
    mine.base = base;
    mine.sizeBytes = theirs.sizeBytes;
    mine.slackBytes = theirs.slackBytes;
    mine.name = theirs.name;
    mine.writable = theirs.writable;
    mine.placement = theirs.placement;
    mine.owner = theirs.owner;
    mine.initialised = theirs.initialised;
    mine.unwritten = theirs.unwritten;
    mine.bytes = {theirs.bytes.get(), ReleaseMemory{.isOwner = false}};
  }
}

const Allocation *AddressSpace::owner(uint64_t address) const {
  auto above = allocations.upper_bound(address);
  if (above == allocations.begin())
    return nullptr;
  const Allocation &below = std::prev(above)->second;
  return below.contains(address, 1) ? &below : nullptr;
}

uint8_t *AddressSpace::find(uint64_t address, uint64_t size, bool writes) {
  const Allocation *allocation = owner(address);
  if (allocation && allocation->allows(address, size, writes)) {
    recentNear(address) = allocation;
    return allocation->bytes.get() + (address - allocation->base);
  }
  const char *verb = writes ? "writes" : "reads";
  if (allocation && allocation->contains(address, size) && !allocation->writable)
    throw Fault(fmt::format("{} {} bytes of read-only memory at 0x{:x}", verb, size, address),
                {describePlace(*allocation, address)});
  std::vector<std::string> notes;
  auto above = allocations.upper_bound(address);
  const Allocation *before = above == allocations.begin() ? nullptr : &std::prev(above)->second;
  if (const Allocation *near = nearer(before, above == allocations.end() ? nullptr : &above->second, address))
    notes.push_back("that is " + describePlace(*near, address));
  throw Fault(fmt::format("{} {} bytes at 0x{:x}, outside every allocation", verb, size, address), notes);
}

uint64_t AddressSpace::countUnwritten(uint64_t address, uint64_t size) const {
  const Allocation *allocation = owner(address);
  if (!allocation || !allocation->contains(address, size))
    return 0;
  if (!allocation->unwritten)
    return allocation->initialised ? 0 : size;
  return allocation->unwritten->countUnwritten(address - allocation->base, size);
}

void AddressSpace::setWritten(Allocation &allocation) {
  allocation.initialised = true;
  allocation.unwritten.reset();
}

void AddressSpace::setAllWritten() {
  for (auto &[base, allocation] : allocations)
    setWritten(allocation);
}

bool AddressSpace::prepareUnwritten() {
  bool any = false;
  for (auto &[base, allocation] : allocations) {
    if ((!allocation.initialised || allocation.slackBytes) && !allocation.unwritten) {
      allocation.unwritten = std::make_shared<UnwrittenBytes>(allocation.sizeBytes, UnwrittenBytes::Never);
      if (allocation.initialised)
        allocation.unwritten->setWritten(0, allocation.usedBytes());
    }
    any |= allocation.unwritten != nullptr;
  }
  return any;
}

} // namespace heddle::simulator
