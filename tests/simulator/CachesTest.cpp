// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What addresses and caches do not forget, and what they must not keep for ever: a process may run for days.
#include "simulator/memory/MemorySystem.h"
#include "support/TestError.h"
#include <cstring>
#include <random>

namespace heddle::simulator {
namespace {

TEST(Addresses, ComeAgainWhenAllWereUsed) {
  AddressSpace memory;
  Allocation &kept = memory.allocate(5000, "kept");
  uint64_t gone = memory.allocate(100, "gone").base;
  memory.free(gone);
  uint64_t before = memory.allocate(100, "next").base;
  EXPECT_GT(before, gone); // not yet
  memory.reserve(uint64_t(15) << 40);
  uint64_t again = memory.reserve(uint64_t(1) << 40);
  EXPECT_GT(again, kept.end());
  EXPECT_GT(again, before);
  for (int i = 0; i < 4; ++i) { // in what lies between the two, and nowhere else
    uint64_t small = memory.allocate(100, "small").base;
    EXPECT_TRUE(small > again || small + 100 < before);
    EXPECT_GE(std::max(small, kept.base) - std::min(small, kept.base), uint64_t(1) << 20);
  }
  EXPECT_CONTAINS(messageOf([&] { memory.reserve(uint64_t(16) << 40); }),
                  "out of memory: no 17592186044416 addresses of simulated devices are free");
  EXPECT_CONTAINS(messageOf([&] { memory.reserve(~uint64_t(0)); }), "out of memory");
}

TEST(Caches, ListALineOnce) {
  Cache cache;
  CacheLine &line = cache.get(128);
  for (int i = 0; i < 3; ++i) {
    cache.makeDirty(line, ByteMask::of(0, 4));
    line.dirty = {}; // written through
  }
  cache.makeDirty(line, ByteMask::of(8, 4));
  EXPECT_EQ(cache.listedCount(), 1u);
  int cleaned = 0;
  cache.cleanAll([&](CacheLine &) { ++cleaned; });
  EXPECT_EQ(cleaned, 1);
  cache.makeDirty(line, ByteMask::of(8, 4));
  EXPECT_EQ(cache.listedCount(), 1u);
}

/// Segments of code objects begin anywhere.
TEST(Caches, WriteBackTheFirstLineOfMemoryThatBeginsInside) {
  MemorySystem system;
  ComputeUnit &unit = *system.addDevice({}).units[0];
  Allocation &segment = system.home.place(system.home.reserve(4096) + 100, 300, "segment");
  for (Scope scope : {Scope::Wave, Scope::Agent}) {
    uint32_t value = 0x12345670 + uint32_t(scope), found = 0;
    system.write(unit, scope, segment.base, 4, &value);
    system.writeBack(unit, Scope::System);
    std::memcpy(&found, segment.bytes.get(), 4);
    EXPECT_EQ(found, value);
  }
}

/// Full caches let go at any time, and nothing that was stored is lost.
TEST(Caches, AreLimitedAndLoseNothing) {
  MemorySystem system;
  system.limits = {.vector = 4, .scalar = 4, .l2 = 4, .agreed = 4};
  Device &device = system.addDevice({}), &other = system.addDevice({});
  Allocation &own = system.home.allocate(128 * 64, "own"), &theirs = system.home.allocate(128 * 64, "theirs");
  theirs.owner = int(other.index);
  ComputeUnit &unit = *device.units[0];
  system.beginKernel(device);
  std::mt19937_64 random(1);
  std::vector<uint32_t> expected[2] = {std::vector<uint32_t>(2048), std::vector<uint32_t>(2048)};
  Allocation *buffers[] = {&own, &theirs};
  for (int i = 0; i < 20000; ++i) {
    size_t which = random() % 2, word = random() % 2048;
    uint64_t address = buffers[which]->base + 4 * word;
    uint32_t value = uint32_t(random()), found = 0;
    Scope scope = Scope(random() % 4);
    switch (random() % 4) {
    case 0:
      system.read(unit, scope, address, 4, &found);
      ASSERT_EQ(found, expected[which][word]) << i;
      break;
    case 1:
      system.write(unit, scope, address, 4, &(expected[which][word] = value));
      break;
    case 2:
      std::memcpy(system.change(unit, random() % 2 ? Scope::System : Scope::Agent, address, 4), &value, 4);
      expected[which][word] = value;
      break;
    default:
      system.readScalar(unit, Scope::Wave, address, 4, &found); // may be old
    }
    ASSERT_LE(unit.vector.size(), 4u);
    ASSERT_LE(unit.scalar.size(), 4u);
    ASSERT_LE(device.l2[0].size(), 4u);
    ASSERT_LE(device.agreed.size(), 4u);
    ASSERT_LE(device.agreed.listedCount(), 4u);
  }
  system.endKernel(device);
  for (size_t which : {0, 1})
    EXPECT_EQ(std::memcmp(buffers[which]->bytes.get(), expected[which].data(), 8192), 0);
}

/// What a device has stored and written back is no newer than what another one stores then.
TEST(Caches, ReadModifyWritesBeginFromWhatOthersStoreAtHome) {
  MemorySystem system;
  ComputeUnit &own = *system.addDevice({}).units[0], &other = *system.addDevice({}).units[0];
  Allocation &buffer = system.home.allocate(4096, "buffer");
  auto add = [&](uint32_t number) {
    uint8_t *bytes = system.change(own, Scope::Agent, buffer.base, 4);
    uint32_t value;
    std::memcpy(&value, bytes, 4);
    value += number;
    std::memcpy(bytes, &value, 4);
    return value;
  };
  EXPECT_EQ(add(5), 5u);
  EXPECT_EQ(add(2), 7u); // which no other cache has yet
  system.writeBack(own, Scope::System);
  uint32_t theirs = 100;
  system.write(other, Scope::System, buffer.base, 4, &theirs);
  EXPECT_EQ(add(1), 101u);
}

/// As lanes read: where the bytes lie, if the caches can do with a note of that.
uint32_t readWithoutCopy(MemorySystem &system, ComputeUnit &unit, Scope scope, uint64_t address,
                         unsigned &withoutCopy) {
  MemoryRequest request;
  request.kind = RequestKind::Load;
  request.space = Space::Global;
  request.scope = scope;
  request.bytes = 4;
  request.queues = MemoryRequest::Vector;
  request.lanes = request.inRange[0] = 1;
  std::fill(std::begin(request.address), std::end(request.address), address);
  uint32_t value;
  if (uintptr_t origin = system.readLent(unit, request, request.lanes, 0, 4)) {
    ++withoutCopy;
    std::memcpy(&value, reinterpret_cast<const uint8_t *>(origin + address), 4);
  } else
    system.read(unit, scope, address, 4, &value);
  return value;
}

/// A copy and what is borrowed until it changes are the same to a reader.
TEST(Caches, ReadTheSameWhetherTheyCopyOrBorrow) {
  MemorySystem copying, borrowing;
  std::vector<Allocation *> buffers[2];
  for (MemorySystem *system : {&copying, &borrowing}) {
    for (int device = 0; device < 2; ++device)
      system->addDevice({.cachesHostMemory = true});
    for (int owner : {0, 1, hostOwner}) {
      Allocation &buffer = system->home.allocate(1 << 16, "buffer");
      buffer.owner = owner;
      for (uint32_t i = 0; i < 1 << 14; ++i)
        std::memcpy(buffer.bytes.get() + 4 * i, &i, 4);
      buffers[system == &borrowing].push_back(&buffer);
    }
  }
  borrowing.beginLending();
  for (MemorySystem *system : {&copying, &borrowing})
    for (auto &device : system->devices)
      system->beginKernel(*device);
  std::mt19937_64 random(2);
  unsigned withoutCopy = 0;
  for (int i = 0; i < 30000; ++i) {
    uint64_t device = random() % 2, number = random() % 24, buffer = random() % 3, kind = random() % 32,
             offset = random() % 16 * 128 + random() % 32 * 4;
    Scope scope = Scope(random() % 4);
    uint32_t value = uint32_t(random()), found[2] = {0, 0};
    for (MemorySystem *system : {&copying, &borrowing}) {
      ComputeUnit &unit = *system->devices[device]->units[number];
      uint64_t address = buffers[system == &borrowing][buffer]->base + offset;
      uint32_t &result = found[system == &borrowing];
      if (kind < 10)
        result = readWithoutCopy(*system, unit, scope, address, withoutCopy);
      else if (kind < 20)
        system->read(unit, scope, address, 4, &result);
      else if (kind < 22)
        system->readScalar(unit, Scope::Wave, address, 4, &result);
      else if (kind < 26 && i > 2000) // much is borrowed by then
        system->write(unit, scope, address, 4, &value);
      else if (kind < 28 && i > 2000)
        std::memcpy(system->change(unit, kind == 26 ? Scope::System : Scope::Agent, address, 4), &value, 4);
      else
        kind < 30 ? system->writeBack(unit, scope) : system->invalidate(unit, scope);
    }
    ASSERT_EQ(found[0], found[1]) << i;
  }
  for (MemorySystem *system : {&copying, &borrowing})
    for (auto &device : system->devices)
      system->endKernel(*device);
  borrowing.endLending();
  EXPECT_GT(withoutCopy, 50u);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(std::memcmp(buffers[0][i]->bytes.get(), buffers[1][i]->bytes.get(), 1 << 16), 0);
}

} // namespace
} // namespace heddle::simulator
