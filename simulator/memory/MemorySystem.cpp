// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads, stores and atomics through the caches, by scope, and what write-backs and invalidations do to lines.
#include "simulator/memory/MemorySystem.h"
#include <algorithm>
#include <bit>
#include <cstring>

namespace heddle::simulator {
namespace {

constexpr uint64_t lineOf(uint64_t address) {
  return address & ~(lineBytes - 1);
}

/// Calls `action(address, size, bytes)` for the part of an access in each line.
template <typename Bytes, typename Action>
void forLines(uint64_t address, unsigned size, Bytes *bytes, Action action) {
  while (size) {
    unsigned part = std::min(size, unsigned(lineBytes - (address & (lineBytes - 1))));
    action(address, part, bytes);
    address += part, bytes += part, size -= part;
  }
}

/// The line's own first byte may lie before the allocation: not every one begins with a line.
uint64_t firstDirtyAddress(const CacheLine &line) {
  unsigned half = line.dirty.bits[0] ? 0 : 1;
  return line.address + 64 * half + unsigned(std::countr_zero(line.dirty.bits[half]));
}

} // namespace

Device &MemorySystem::addDevice(const DeviceShape &shape) {
  auto device = std::make_unique<Device>(lines);
  device->index = unsigned(devices.size());
  device->shape = shape;
  for (unsigned xcd = 0; xcd < shape.xcds; ++xcd)
    device->l2.emplace_back(lines);
  for (unsigned unit = 0; unit < shape.xcds * shape.unitsPerXcd; ++unit) {
    device->units.push_back(std::make_unique<ComputeUnit>(lines));
    device->units.back()->device = device.get();
    device->units.back()->index = unit;
    device->units.back()->xcd = unit % shape.xcds;
  }
  devices.push_back(std::move(device));
  return *devices.back();
}

PageType MemorySystem::pageTypeOf(const Allocation &allocation, const Device &device) const {
  bool isOwn = allocation.owner == int(device.index);
  if (allocation.placement == Placement::Uncached)
    return PageType::Uncached;
  if (allocation.placement == Placement::FineGrained)
    return isOwn ? PageType::Coherent : PageType::Uncached;
  if (allocation.owner == hostOwner)
    return device.shape.cachesHostMemory ? PageType::Remote : PageType::Uncached;
  return isOwn ? PageType::Local : PageType::Remote;
}

const Allocation &MemorySystem::holder(uint64_t address, unsigned size, bool writes) {
  home.at(address, size, writes); // throws when there is none
  const Allocation &allocation = *home.around(address, writes);
  if (writes) {
    allocation.changed.add(address, size);
    if (allocation.lendsLines)
      stopLendingLines(allocation);
  }
  return allocation;
}

// ---- Lending ----

/// Less is not worth the search for who borrows it.
static constexpr uint64_t leastToLend = 1 << 16;

void MemorySystem::beginLending() {
  home.forEach([](const Allocation &allocation) {
    allocation.lends = allocation.lendsLines = allocation.sizeBytes >= leastToLend;
  });
}

void MemorySystem::endLending() {
  home.forEach([](const Allocation &allocation) { allocation.lends = allocation.lendsLines = false; });
  forEachCache([](Cache &cache) { cache.clear(); });
}

template <typename Action>
void MemorySystem::forEachCache(Action action) {
  for (auto &device : devices) {
    for (Cache &l2 : device->l2)
      action(l2);
    action(device->agreed);
    for (ComputeUnit *unit : device->usedUnits)
      action(unit->vector), action(unit->scalar);
  }
}

/// Its first write in the memory that all share.
void MemorySystem::stopLending(const Allocation &allocation) {
  allocation.lends = false;
  const uint8_t *begin = homeLine(allocation, lineOf(allocation.base));
  forEachCache([&](Cache &cache) { cache.stopBorrowing(begin, allocation.bytes.get() + allocation.sizeBytes); });
}

/// Its first write, be it in a cache.
void MemorySystem::stopLendingLines(const Allocation &allocation) {
  allocation.lendsLines = false;
  uint64_t first = lineOf(allocation.base);
  forEachCache([&](Cache &cache) { cache.keepLent(first, allocation.end(), homeLine(allocation, first)); });
}

/// Lines that L2 is asked for, and has then.
void MemorySystem::touchLentInL2(ComputeUnit &unit, Scope scope, uint64_t group, uint64_t lines) {
  uint64_t missing = unit.device->l2[unit.xcd].addLent(group, lines);
  if (scope >= Scope::Agent) // reads past L2 what is not dirty there
    missing = lines;
  l2Counts.misses += unsigned(std::popcount(missing));
  l2Counts.hits += unsigned(std::popcount(lines & ~missing));
}

/// Lines of a group that a unit reads and for which its caches have room.
void MemorySystem::touchLent(ComputeUnit &unit, Scope scope, uint64_t group, uint64_t lines) {
  use(unit);
  if (scope <= Scope::Workgroup)
    lines = unit.vector.addLent(group, lines);
  if (lines)
    touchLentInL2(unit, scope, group, lines);
}

void MemorySystem::touchLentRange(ComputeUnit &unit, Scope scope, uint64_t first, uint64_t end) {
  constexpr unsigned count = LentLines::linesPerGroup;
  uint64_t lastLine = (end - 1) / lineBytes;
  for (uint64_t line = first / lineBytes; line <= lastLine;) {
    uint64_t group = line / count;
    uint64_t last = std::min(lastLine, group * count + count - 1);
    touchLent(unit, scope, group, ~uint64_t(0) >> (count - 1 - (last - line)) << line % count);
    line = last + 1;
  }
}

/// Counts of repeated lines, and what is forgotten when caches are full, depend on the order of the lanes.
uintptr_t MemorySystem::readLent(ComputeUnit &unit, const MemoryRequest &request, uint64_t lanes, unsigned offset,
                                 unsigned size) {
  constexpr unsigned count = LentLines::linesPerGroup;
  if (!lanes)
    return 0;
  uint64_t first = request.address[std::countr_zero(lanes)] + offset;
  const Allocation *allocation = home.around(first, false);
  if (!allocation || !hasLentLines(*allocation, *unit.device) || !hasRoomFor(unit, 2 * waveLanes))
    return 0;
  uintptr_t origin = uintptr_t(allocation->bytes.get()) - uintptr_t(allocation->base) + offset;
  if (lanes == allLanes && request.isRow && !offset && size == request.bytes) {
    if (!allocation->contains(first, waveLanes * size))
      return 0;
    touchLentRange(unit, request.scope, first, first + waveLanes * size);
    return origin;
  }
  if (request.scope >= Scope::Agent)
    return 0;
  uint64_t outside = 0;
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    outside |= (request.address[lane] + offset - allocation->base > allocation->sizeBytes - size) & lanes >> lane;
  if (outside & 1)
    return 0;
  uint64_t group = 0, lines = 0, lastLine = ~uint64_t(0);
  auto add = [&](uint64_t line) {
    if (line == lastLine)
      return;
    lastLine = line;
    if (line / count != group) {
      if (lines)
        touchLent(unit, request.scope, group, lines);
      group = line / count, lines = 0;
    }
    lines |= uint64_t(1) << line % count;
  };
  for (uint64_t rest = lanes; rest; rest &= rest - 1) {
    uint64_t address = request.address[std::countr_zero(rest)] + offset;
    add(address / lineBytes);
    add((address + size - 1) / lineBytes);
  }
  touchLent(unit, request.scope, group, lines);
  return origin;
}

/// The line, of which nothing is valid, gets the bytes, which may be those of home.
void MemorySystem::fill(Cache &cache, CacheLine &line, const Allocation &allocation, const uint8_t *bytes) {
  if (allocation.lends && bytes == homeLine(allocation, line.address))
    return Cache::borrow(line, bytes);
  std::memcpy(cache.ownBytes(line), bytes, lineBytes);
  line.valid = ByteMask::all();
}

// ---- Reading ----

const uint8_t *MemorySystem::readAgreed(Device &device, Scope scope, const Allocation &allocation, PageType page,
                                        uint64_t line) {
  const uint8_t *home = homeLine(allocation, line);
  if (page == PageType::Local) {
    CacheLine *agreed = device.agreed.find(line);
    if (!agreed)
      return home;
    if (agreed->dirty.any())
      copyMasked(device.agreed.ownBytes(*agreed), home, ~agreed->dirty);
    return agreed->dirty.any() ? agreed->bytes : home;
  }
  CacheLine &agreed = agreedLine(device, line);
  ByteMask wanted = scope == Scope::System ? ~agreed.dirty : ~agreed.valid;
  if (wanted.isAll())
    fill(device.agreed, agreed, allocation, home);
  else if (wanted.any())
    copyMasked(device.agreed.ownBytes(agreed), home, wanted);
  agreed.valid = ByteMask::all();
  return agreed.bytes;
}

const uint8_t *MemorySystem::readThroughL2(ComputeUnit &unit, Scope scope, const Allocation &allocation,
                                           uint64_t line) {
  Device &device = *unit.device;
  PageType page = pageTypeOf(allocation, device);
  if (page == PageType::Uncached || page == PageType::Coherent)
    return homeLine(allocation, line);
  limit(device, device.l2[unit.xcd]);
  if (hasLentLines(allocation, device)) {
    constexpr unsigned count = LentLines::linesPerGroup;
    touchLentInL2(unit, scope, line / lineBytes / count, uint64_t(1) << line / lineBytes % count);
    return homeLine(allocation, line);
  }
  CacheLine &kept = device.l2[unit.xcd].get(line);
  ByteMask wanted = scope >= Scope::Agent ? ~kept.dirty : ~kept.valid;
  ++(wanted.any() ? l2Counts.misses : l2Counts.hits);
  if (wanted.isAll())
    fill(device.l2[unit.xcd], kept, allocation, readAgreed(device, scope, allocation, page, line));
  else if (wanted.any())
    copyMasked(device.l2[unit.xcd].ownBytes(kept), readAgreed(device, scope, allocation, page, line), wanted);
  kept.valid = ByteMask::all();
  return kept.bytes;
}

const uint8_t *MemorySystem::readLine(ComputeUnit &unit, Scope scope, const Allocation &allocation, uint64_t line) {
  if (scope > Scope::Workgroup) {
    const uint8_t *bytes = readThroughL2(unit, scope, allocation, line);
    if (hasLentLines(allocation, *unit.device))
      return bytes;
    if (CacheLine *kept = unit.vector.find(line))
      fill(unit.vector, *kept, allocation, bytes);
    return bytes;
  }
  use(unit);
  if (unit.vector.size() >= limits.vector)
    unit.vector.clear();
  if (hasLentLines(allocation, *unit.device)) {
    constexpr unsigned count = LentLines::linesPerGroup;
    if (unit.vector.addLent(line / lineBytes / count, uint64_t(1) << line / lineBytes % count))
      readThroughL2(unit, scope, allocation, line);
    return homeLine(allocation, line);
  }
  CacheLine &kept = unit.vector.get(line);
  if (!kept.valid.any())
    fill(unit.vector, kept, allocation, readThroughL2(unit, scope, allocation, line));
  return kept.bytes;
}

void MemorySystem::read(ComputeUnit &unit, Scope scope, uint64_t address, unsigned size, void *out) {
  const Allocation &allocation = holder(address, size, false);
  if (hasLentLines(allocation, *unit.device) && hasRoomFor(unit, size / lineBytes + 2)) {
    touchLentRange(unit, scope, address, address + size);
    std::memcpy(out, allocation.bytes.get() + (address - allocation.base), size);
    return;
  }
  forLines(address, size, static_cast<uint8_t *>(out), [&](uint64_t at, unsigned part, uint8_t *bytes) {
    std::memcpy(bytes, readLine(unit, scope, allocation, lineOf(at)) + (at - lineOf(at)), part);
  });
}

// ---- The scalar cache ----

void MemorySystem::readScalar(ComputeUnit &unit, Scope scope, uint64_t address, unsigned size, void *out) {
  const Allocation &allocation = holder(address, size, false);
  forLines(address, size, static_cast<uint8_t *>(out), [&](uint64_t at, unsigned part, uint8_t *bytes) {
    uint64_t line = lineOf(at);
    if (scope >= Scope::Agent) {
      std::memcpy(bytes, readThroughL2(unit, scope, allocation, line) + (at - line), part);
      return;
    }
    CacheLine *kept = unit.scalar.find(line);
    if (!kept) {
      use(unit);
      if (unit.scalar.size() >= limits.scalar) {
        writeBackScalar(unit);
        unit.scalar.clear();
      }
      kept = &unit.scalar.get(line);
      fill(unit.scalar, *kept, allocation, readThroughL2(unit, Scope::Wave, allocation, line));
    } else if (!kept->valid.isAll()) { // a store made it
      copyMasked(unit.scalar.ownBytes(*kept), readThroughL2(unit, Scope::Wave, allocation, line), ~kept->valid);
      kept->valid = ByteMask::all();
    }
    std::memcpy(bytes, kept->bytes + (at - line), part);
  });
}

void MemorySystem::writeScalar(ComputeUnit &unit, Scope scope, uint64_t address, unsigned size, const void *in) {
  const Allocation &allocation = holder(address, size, true);
  forLines(address, size, static_cast<const uint8_t *>(in), [&](uint64_t at, unsigned part, const uint8_t *bytes) {
    uint64_t line = lineOf(at);
    auto offset = unsigned(at - line);
    if (scope >= Scope::Agent) {
      if (CacheLine *kept = unit.scalar.find(line); kept && kept->valid.covers(ByteMask::of(offset, part)))
        std::memcpy(unit.scalar.ownBytes(*kept) + offset, bytes, part);
      writeThroughL2(unit, scope, allocation, at, part, bytes);
      return;
    }
    if (unit.scalar.size() >= limits.scalar) {
      writeBackScalar(unit);
      unit.scalar.clear();
    }
    use(unit);
    CacheLine &kept = unit.scalar.get(line);
    std::memcpy(unit.scalar.ownBytes(kept) + offset, bytes, part);
    unit.scalar.makeDirty(kept, ByteMask::of(offset, part));
  });
}

/// Stores of the scalar cache are of whole words.
void MemorySystem::cleanScalar(ComputeUnit &unit, CacheLine &line) {
  const Allocation *allocation = home.owner(firstDirtyAddress(line));
  if (!allocation) // freed
    return;
  for (unsigned offset = 0; offset < lineBytes; offset += 4)
    if ((line.dirty & ByteMask::of(offset, 4)).any())
      writeThroughL2(unit, Scope::Wave, *allocation, line.address + offset, 4, line.bytes + offset);
}

void MemorySystem::writeBackScalar(ComputeUnit &unit) {
  unit.scalar.cleanAll([&](CacheLine &line) { cleanScalar(unit, line); });
}

void MemorySystem::invalidateScalar(ComputeUnit &unit) {
  unit.scalar.dropClean();
}

// ---- Writing ----

void MemorySystem::writeHome(const Allocation &allocation, const Device &writer, uint64_t line, const uint8_t *bytes,
                             const ByteMask &mask) {
  if (allocation.lends)
    stopLending(allocation);
  copyMasked(homeLine(allocation, line), bytes, mask);
  // The only L2 of a device hears of writes of others to the device's own memory.
  if (allocation.owner < 0 || allocation.owner == int(writer.index))
    return;
  Device &owner = *devices[size_t(allocation.owner)];
  if (owner.shape.xcds == 1)
    if (CacheLine *kept = owner.l2[0].find(line))
      kept->valid = kept->dirty;
}

void MemorySystem::writeLine(ComputeUnit &unit, Scope scope, const Allocation &allocation, uint64_t address,
                             unsigned size, const uint8_t *in) {
  uint64_t line = lineOf(address);
  if (CacheLine *kept = unit.vector.find(line))
    std::memcpy(unit.vector.ownBytes(*kept) + (address - line), in, size);
  writeThroughL2(unit, scope, allocation, address, size, in);
}

void MemorySystem::writeThroughL2(ComputeUnit &unit, Scope scope, const Allocation &allocation, uint64_t address,
                                  unsigned size, const uint8_t *in) {
  Device &device = *unit.device;
  uint64_t line = lineOf(address);
  unsigned offset = unsigned(address - line);
  ByteMask mask = ByteMask::of(offset, size);
  PageType page = pageTypeOf(allocation, device);
  bool isCached = page == PageType::Local || page == PageType::Remote;
  if (isCached && scope <= Scope::Workgroup) {
    Cache &l2 = device.l2[unit.xcd];
    ++l2Counts.writes;
    limit(device, l2);
    CacheLine &kept = l2.get(line);
    std::memcpy(l2.ownBytes(kept) + offset, in, size);
    l2.makeDirty(kept, mask);
    return;
  }
  if (CacheLine *kept = device.l2[unit.xcd].find(line)) {
    std::memcpy(device.l2[unit.xcd].ownBytes(*kept) + offset, in, size);
    kept->dirty = kept->dirty & ~mask;
    kept->valid = kept->valid | mask;
  }
  if (isCached && scope == Scope::Agent) {
    CacheLine &agreed = agreedLine(device, line);
    std::memcpy(device.agreed.ownBytes(agreed) + offset, in, size);
    device.agreed.makeDirty(agreed, mask);
    return;
  }
  if (CacheLine *agreed = device.agreed.find(line)) {
    std::memcpy(device.agreed.ownBytes(*agreed) + offset, in, size);
    agreed->dirty = agreed->dirty & ~mask;
  }
  uint8_t bytes[lineBytes];
  std::memcpy(bytes + offset, in, size);
  writeHome(allocation, device, line, bytes, mask);
}

void MemorySystem::write(ComputeUnit &unit, Scope scope, uint64_t address, unsigned size, const void *in) {
  const Allocation &allocation = holder(address, size, true);
  forLines(address, size, static_cast<const uint8_t *>(in), [&](uint64_t at, unsigned part, const uint8_t *bytes) {
    writeLine(unit, scope, allocation, at, part, bytes);
  });
}

uint8_t *MemorySystem::change(ComputeUnit &unit, Scope scope, uint64_t address, unsigned size, const ByteMask &others) {
  home.toChange(address, size); // throws when there is none
  const Allocation &allocation = *home.around(address, true);
  if (allocation.lendsLines)
    stopLendingLines(allocation);
  Device &device = *unit.device;
  uint64_t line = lineOf(address);
  unsigned offset = unsigned(address - line);
  ByteMask mask = ByteMask::of(offset, size) | others;
  for (unsigned half = 0; half < 2; ++half)
    if (uint64_t bits = mask.bits[half]) {
      unsigned first = unsigned(std::countr_zero(bits)), end = 64 - unsigned(std::countl_zero(bits));
      allocation.changed.add(line + 64 * half + first, end - first);
    }
  if (CacheLine *kept = unit.vector.find(line))
    kept->valid = {};
  PageType page = pageTypeOf(allocation, device);
  bool isAtHome = page == PageType::Uncached || page == PageType::Coherent;
  if (allocation.lends && (isAtHome || scope == Scope::System))
    stopLending(allocation);
  if (isAtHome)
    return homeLine(allocation, line) + offset;
  // What the XCD has not written back comes first.
  if (CacheLine *kept = device.l2[unit.xcd].find(line)) {
    if ((kept->dirty & mask).any()) {
      CacheLine &agreed = agreedLine(device, line);
      copyMasked(device.agreed.ownBytes(agreed), kept->bytes, kept->dirty & mask);
      device.agreed.makeDirty(agreed, kept->dirty & mask);
    }
    kept->dirty = kept->dirty & ~mask;
    kept->valid = kept->valid & ~mask;
  }
  if (scope == Scope::System) {
    if (CacheLine *agreed = device.agreed.find(line)) {
      writeHome(allocation, device, line, agreed->bytes, agreed->dirty & mask);
      agreed->dirty = agreed->dirty & ~mask;
      agreed->valid = agreed->valid & ~mask;
    }
    writeHome(allocation, device, line, homeLine(allocation, line), {}); // the cache that keeps the line hears of it
    return homeLine(allocation, line) + offset;
  }
  readAgreed(device, scope, allocation, page, line);
  CacheLine &agreed = agreedLine(device, line);
  uint8_t *bytes = device.agreed.ownBytes(agreed);
  // What is clean is as old as it may be: of the device's own memory nothing but stores is kept between L2 and home.
  copyMasked(bytes, homeLine(allocation, line), mask & ~(page == PageType::Local ? agreed.dirty : agreed.valid));
  device.agreed.makeDirty(agreed, mask);
  return bytes + offset;
}

// ---- Maintenance ----

/// To be used before the next call: lines are forgotten when there are too many.
CacheLine &MemorySystem::agreedLine(Device &device, uint64_t line) {
  if (device.agreed.size() >= limits.agreed) {
    device.agreed.cleanAll([&](CacheLine &each) { moveHome(device, each); });
    device.agreed.clear();
  }
  return device.agreed.get(line);
}

void MemorySystem::moveToAgreed(Device &device, CacheLine &line) {
  if (!home.owner(firstDirtyAddress(line))) // freed
    return;
  CacheLine &agreed = agreedLine(device, line.address);
  copyMasked(device.agreed.ownBytes(agreed), line.bytes, line.dirty);
  device.agreed.makeDirty(agreed, line.dirty);
}

/// The same as moveToAgreed(), of which moveHome() of the agreed lines follows: the device's own memory has nothing
/// clean between L2 and home.
void MemorySystem::moveToHome(Device &device, CacheLine &line) {
  const Allocation *allocation = home.owner(firstDirtyAddress(line));
  if (!allocation) // freed
    return;
  if (pageTypeOf(*allocation, device) == PageType::Local && !device.agreed.find(line.address))
    writeHome(*allocation, device, line.address, line.bytes, line.dirty);
  else
    moveToAgreed(device, line);
}

void MemorySystem::moveHome(Device &device, const CacheLine &line) {
  if (const Allocation *allocation = home.owner(firstDirtyAddress(line)))
    writeHome(*allocation, device, line.address, line.bytes, line.dirty);
}

void MemorySystem::writeBack(ComputeUnit &unit, Scope scope) {
  Device &device = *unit.device;
  if (scope < Scope::Agent)
    return;
  if (scope == Scope::Agent)
    return device.l2[unit.xcd].cleanAll([&](CacheLine &line) { moveToAgreed(device, line); });
  device.l2[unit.xcd].cleanAll([&](CacheLine &line) { moveToHome(device, line); });
  device.agreed.cleanAll([&](CacheLine &line) { moveHome(device, line); });
}

void MemorySystem::invalidate(ComputeUnit &unit, Scope scope) {
  unit.vector.dropClean();
  if (scope >= Scope::Agent)
    unit.device->l2[unit.xcd].dropClean();
  if (scope == Scope::System)
    unit.device->agreed.dropClean();
}

void MemorySystem::beginKernel(Device &device) {
  if (std::all_of(devices.begin(), devices.end(), [](const auto &each) { return each->runningKernels == 0; }))
    home.forEach([](const Allocation &allocation) { allocation.changed = {}; });
  bool isAlone = device.runningKernels++ == 0;
  for (auto &unit : device.units) {
    unit->vector.clear();
    unit->scalar.clear();
  }
  for (Cache &l2 : device.l2)
    isAlone ? l2.clear() : l2.dropClean();
  isAlone ? device.agreed.clear() : device.agreed.dropClean();
}

void MemorySystem::endKernel(Device &device) {
  --device.runningKernels;
  for (Cache &l2 : device.l2)
    l2.cleanAll([&](CacheLine &line) { moveToHome(device, line); });
  device.agreed.cleanAll([&](CacheLine &line) { moveHome(device, line); });
}

void MemorySystem::limit(Device &device, Cache &l2) {
  if (l2.size() < limits.l2)
    return;
  l2.cleanAll([&](CacheLine &line) { moveToAgreed(device, line); });
  l2.clear();
}

void MemorySystem::disturb(ComputeUnit &unit, std::mt19937_64 &random) {
  Device &device = *unit.device;
  uint64_t choice = random();
  switch (choice % 64) {
  case 0:
    unit.vector.dropClean();
    break;
  case 1:
    device.l2[unit.xcd].dropClean();
    break;
  case 2:
    device.agreed.dropClean();
    break;
  case 3:
  case 4:
  case 5:
    device.l2[unit.xcd].cleanAny(choice >> 8, [&](CacheLine &line) { moveToAgreed(device, line); });
    break;
  case 6:
  case 7:
  case 8:
    device.agreed.cleanAny(choice >> 8, [&](CacheLine &line) { moveHome(device, line); });
    break;
  case 9:
    unit.scalar.cleanAny(choice >> 8, [&](CacheLine &line) { cleanScalar(unit, line); });
    break;
  default:
    break;
  }
}

} // namespace heddle::simulator
