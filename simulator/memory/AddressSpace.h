// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The global memory of a simulated device. Addresses are the simulator's own, the same in every run, and between two
// allocations lies a gap, so that an access beyond one's end hits nothing.
#pragma once
#include "simulator/memory/UnwrittenBytes.h"
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace heddle::simulator {

/// How a buffer was asked for. Who accesses it decides which caches may keep it (PageType).
enum class Placement : uint8_t {
  Normal,
  FineGrained, ///< the caches of its own device are kept coherent
  Uncached,
};
inline constexpr int hostOwner = -1;

struct ReleaseMemory {
  uint64_t front = 0;  ///< bytes of the first line before those that are used
  bool isOwner = true; ///< else its owner frees it
  void operator()(uint8_t *memory) const {
    if (isOwner)
      std::free(memory - front);
  }
};

/// Bytes from the lowest to the highest that were named.
struct ChangedRange {
  uint64_t first = ~uint64_t(0), end = 0;
  void add(uint64_t address, uint64_t size) {
    first = address < first ? address : first;
    end = address + size > end ? address + size : end;
  }
  bool meets(uint64_t otherFirst, uint64_t otherEnd) const { return first < otherEnd && otherFirst < end; }
};

struct Allocation {
  uint64_t base = 0, sizeBytes = 0;
  uint64_t slackBytes = 0; ///< the last ones: beyond the buffer that was asked for; they are read, never written
  std::string name;
  bool writable = true;
  Placement placement = Placement::Normal;
  int owner = 0;                                   ///< the device in whose memory it lies, or hostOwner
  mutable bool lends = false;                      ///< caches may borrow its bytes while nothing writes them
  mutable bool lendsLines = false;                 ///< nothing has written any, not even in a cache
  mutable ChangedRange changed;                    ///< by the launches that run, through MemorySystem
  bool initialised = true;                         ///< else reading what no kernel has written is an error
  std::shared_ptr<UnwrittenBytes> unwritten;       ///< null: as `initialised` says
  std::unique_ptr<uint8_t[], ReleaseMemory> bytes; ///< of calloc: pages that nothing touches cost nothing

  uint64_t end() const { return base + sizeBytes; }
  uint64_t usedBytes() const { return sizeBytes - slackBytes; }
  /// The bytes from `base` on that may be read, or written.
  uint64_t bytesFor(bool writes) const { return writes ? usedBytes() : sizeBytes; }
  bool contains(uint64_t address, uint64_t size) const {
    return address - base < sizeBytes && size <= sizeBytes - (address - base);
  }
  bool allows(uint64_t address, uint64_t size, bool writes) const {
    uint64_t most = bytesFor(writes);
    return address - base < most && size <= most - (address - base) && (!writes || writable);
  }
};

/// What lies at `address`, near or in the allocation, for messages.
std::string describePlace(const Allocation &allocation, uint64_t address);

class AddressSpace {
public:
  /// Zeroed memory at a multiple of 4096. Throws heddle::Error{Environment} when the host has too little.
  Allocation &allocate(uint64_t sizeBytes, const std::string &name);
  /// A range of addresses with gaps around it; place() puts memory into it. What was used once comes again when
  /// all else was used, so that a stale use hits nothing. Throws heddle::Error{Environment} when none are
  /// left.
  uint64_t reserve(uint64_t sizeBytes);
  /// Its memory is whole lines of 128 bytes.
  Allocation &place(uint64_t address, uint64_t sizeBytes, const std::string &name);
  void free(uint64_t base);
  /// Becomes a second view of the other's memory, until that allocates or frees any: lookups of two threads need two.
  void share(const AddressSpace &other);

  /// The memory at `address`, or a Fault that names the address and the nearest allocation.
  uint8_t *at(uint64_t address, uint64_t size, bool writes) {
    const Allocation *near = recentNear(address);
    if (near && near->allows(address, size, writes))
      return near->bytes.get() + (address - near->base);
    return find(address, size, writes);
  }
  /// The memory of a read-modify-write of aligned bytes. Chips have none of fewer than four, so that compilers make one
  /// of one or two bytes of the word around them, whose last may lie past the end of an allocation: on a device none
  /// ends inside a word. Those bytes are 0, and changing them is a fault.
  uint8_t *toChange(uint64_t address, uint64_t size) {
    const Allocation *allocation = size == 4 ? around(address, true) : nullptr;
    return allocation ? allocation->bytes.get() + (address - allocation->base) : at(address, size, true);
  }
  /// Which bits of the word at `address` lie past the end of the allocation that it begins in.
  uint32_t bitsBehind(uint64_t address) {
    const Allocation *allocation = around(address, false);
    uint64_t inside = allocation ? allocation->base + allocation->usedBytes() - address : 4;
    return inside < 4 ? ~uint32_t(0) << (8 * inside) : 0;
  }
  /// The allocation that holds the address and may be written if `writes`, or null.
  const Allocation *around(uint64_t address, bool writes) {
    const Allocation *&near = recentNear(address);
    if (!near || !near->contains(address, 1)) {
      const Allocation *allocation = owner(address);
      if (!allocation)
        return nullptr;
      near = allocation;
    }
    return writes && !near->allows(address, 1, true) ? nullptr : near;
  }
  /// The allocation that holds the address, or null.
  const Allocation *owner(uint64_t address) const;
  Allocation *owner(uint64_t address) { return const_cast<Allocation *>(std::as_const(*this).owner(address)); }

  /// How many of the bytes hold what nothing has written, as far as a run with Check::Uninitialised knows.
  uint64_t countUnwritten(uint64_t address, uint64_t size) const;
  /// The host has written all of the allocation.
  static void setWritten(Allocation &allocation);
  /// The same of all: something ran that was not looked at.
  void setAllWritten();
  template <typename Action>
  void forEach(Action action) {
    for (auto &[base, allocation] : allocations)
      action(allocation);
  }
  /// Whether any allocation has bytes that nothing has written; makes their flags.
  bool prepareUnwritten();

private:
  uint8_t *find(uint64_t address, uint64_t size, bool writes);

  std::map<uint64_t, Allocation> allocations; ///< by base
  /// The last one that was found near the address: between two allocations lies more than a megabyte.
  const Allocation *&recentNear(uint64_t address) { return recent[(address >> 20) % std::size(recent)]; }
  const Allocation *recent[16] = {};
  static constexpr uint64_t firstAddress = uint64_t(0x7000) << 32, endAddress = uint64_t(1) << 47;
  uint64_t next = firstAddress;
};

} // namespace heddle::simulator
