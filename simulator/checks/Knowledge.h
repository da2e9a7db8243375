// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which accesses of other waves are ordered before something: a vector clock with entries only for those waves of which
// anything is known. A copy costs no allocation.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace heddle::simulator {

/// The accesses of a wave in separate rows, each numbered from 1 in program order, by what makes them known to others.
enum class Stream : uint8_t {
  Written,      ///< stores into a cache that others may not read: known beyond the workgroup when written back
  WrittenAgent, ///< stores and read-modify-writes done where the device is coherent
  Everywhere,   ///< stores done where all is coherent, and vector loads: nothing of them remains
  ScalarRead,   ///< in no order with the others
};
inline constexpr unsigned streamCount = 4;

/// Not to be shared between threads, copies of one another included.
class Knowledge {
public:
  struct Entry {
    uint32_t id;    ///< wave number * streamCount + stream
    uint32_t epoch; ///< everything up to it is known
  };

  Knowledge() = default;
  Knowledge(const Knowledge &other) : block(other.block) {
    if (block)
      ++block->references;
  }
  Knowledge(Knowledge &&other) noexcept : block(std::exchange(other.block, nullptr)) {}
  Knowledge &operator=(Knowledge other) noexcept {
    std::swap(block, other.block);
    return *this;
  }
  ~Knowledge() {
    if (block && --block->references == 0)
      Block::give(block);
  }

  /// The entry whose epoch is a time: everything of launches that had ended by then is known.
  static constexpr uint32_t endedLaunches = ~0u;
  static uint32_t idOf(uint32_t wave, Stream stream) { return wave * streamCount + uint32_t(stream); }

  /// 0 when nothing is known.
  uint32_t epochOf(uint32_t id) const;
  void join(const Knowledge &other);
  void join(std::span<const Entry> sorted);
  /// Of these waves only.
  std::vector<Entry> of(const std::function<bool(uint32_t wave)> &isWanted) const;

  /// Of memory that this thread keeps for what it will know next: never more than the most.
  static size_t freeBytes();
  static constexpr size_t mostFreeBytes = size_t(32) << 20;

private:
  /// Entries, sorted by id, that Knowledge objects share; only one of a single owner is changed.
  struct Block {
    uint32_t references = 1, count = 0;
    uint32_t sizeClass = 0; ///< which has room for 8 << sizeClass entries
    Block *next = nullptr;  ///< of those that are free
    Entry *entries() { return reinterpret_cast<Entry *>(this + 1); }
    std::span<Entry> all() { return {entries(), count}; }
    size_t sizeBytes() const;
    static Block *take(size_t count);
    static void give(Block *block);
  };
  struct FreeBlocks;

  std::span<const Entry> entries() const {
    return block ? std::span<const Entry>(block->all()) : std::span<const Entry>();
  }

  Block *block = nullptr; ///< null is empty
};

} // namespace heddle::simulator
