// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From where the lines of a memory instruction come, for the estimate of time: the vector cache of the one compute unit
// that is timed, the L2 of an XCD, the last-level cache of the device, memory. The vector cache replaces the least
// recently used line; the other levels hold every line that the launch has touched, however many.
#pragma once
#include "chips/TimingModel.h"
#include "simulator/memory/Cache.h"
#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>

namespace heddle::simulator {

/// Lines of an instruction: all, and those that each level did not have.
struct LevelCounts {
  unsigned lines = 0, fromL2 = 0, fromLastLevel = 0, fromMemory = 0;
};

/// Of the whole launch, in lines.
struct MemoryTraffic {
  uint64_t read = 0, written = 0; ///< in memory
  uint64_t lastLevel = 0;         ///< lines that L2s asked for
};

class MemoryLevels {
public:
  explicit MemoryLevels(const TimingModel &model) : vectorCache(size_t(model.vectorCacheBytes) / lineBytes) {}

  /// By a wave on an XCD. `isTimed`: of the compute unit that is timed, whose vector cache keeps the lines.
  LevelCounts load(std::span<const uint64_t> lines, unsigned xcd, bool isTimed, bool skipsVectorCache);
  /// The same through the scalar cache, which keeps what it has.
  LevelCounts loadScalar(std::span<const uint64_t> lines, unsigned xcd, bool isTimed);
  /// Stores go through to L2.
  LevelCounts store(std::span<const uint64_t> lines, unsigned xcd);
  /// Atomics, which L2 does: it must have the line.
  LevelCounts update(std::span<const uint64_t> lines, unsigned xcd);

  /// Of the compute unit that is timed: buffer_inv, s_dcache_inv.
  void invalidateVectorCache() { vectorCache.clear(); }
  void invalidateScalarCache() { scalarLines.clear(); }

  MemoryTraffic traffic;

private:
  /// One that forgets the least recently used line.
  class VectorCache {
  public:
    explicit VectorCache(size_t lines) : lines(lines, none), used(lines) {}
    bool touch(uint64_t line); ///< whether it was there; it is afterwards
    void clear() { std::ranges::fill(lines, none); }

  private:
    static constexpr uint64_t none = ~uint64_t(0);
    std::vector<uint64_t> lines, used;
    uint64_t clock = 0;
  };

  static constexpr uint16_t isWritten = 1 << 15;
  static constexpr uint64_t linesPerPage = 8192;
  /// Bits of a line: the XCDs that touched it, and whether it was written.
  uint16_t &bitsOf(uint64_t line);
  void fetch(uint64_t line, unsigned xcd, LevelCounts &counts);
  void write(uint64_t line, unsigned xcd);

  VectorCache vectorCache;
  std::unordered_set<uint64_t> scalarLines;
  std::unordered_map<uint64_t, std::unique_ptr<std::array<uint16_t, linesPerPage>>> pages;
  uint64_t lastPage = ~uint64_t(0);
  std::array<uint16_t, linesPerPage> *last = nullptr;
};

} // namespace heddle::simulator
