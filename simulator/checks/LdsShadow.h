// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What LdsCheck keeps for the LDS of a workgroup: for each dword who wrote it last and up to where each wave has read
// it, in epochs. Each wave is two streams, its DS operations and its loads to LDS, and an epoch counts the operations
// of a stream. A clock says up to which epoch each stream is known to be over.
#pragma once
#include "simulator/memory/MemoryRequest.h"
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace heddle::simulator {

inline constexpr unsigned mostGroupWaves = 16;

/// Stream w is the DS operations of wave w, stream mostGroupWaves + w its loads to LDS.
struct LdsClock {
  std::array<uint32_t, 2 * mostGroupWaves> over{};

  void join(const LdsClock &other) {
    for (size_t i = 0; i < over.size(); ++i)
      over[i] = std::max(over[i], other.over[i]);
  }
};
constexpr unsigned loadStream(unsigned wave) {
  return mostGroupWaves + wave;
}

enum class LdsAccess : uint8_t {
  Read,
  Write,
  Atomic, ///< a read-modify-write, or a store that lets go a lock
  Load,   ///< global memory straight to LDS
};

/// One wave's operation on LDS, before its lanes are looked at.
struct LdsOperation {
  LdsAccess access = LdsAccess::Read;
  uint32_t wave = 0, epoch = 0;
  bool uniform = false; ///< all lanes access the same place, as those of a flag do
  LdsClock over;        ///< what comes before it
};

/// An earlier operation on the same bytes that may not be over.
struct LdsConflict {
  LdsAccess access = LdsAccess::Read; ///< of the earlier one
  uint32_t stream = 0, epoch = 0;
  uint32_t address = 0, bytes = 4; ///< in LDS
  int lane = -1, earlierLane = -1;
  bool earlierUniform = false;
  bool sameValue = false; ///< both are stores, of the same value
};

class LdsShadow {
public:
  /// For a workgroup that begins: nothing was accessed.
  void start(uint32_t ldsBytes, uint32_t waves);
  uint32_t sizeBytes() const { return ldsBytes; }

  /// One lane's access of bytes, of which `data` is what it stores; null when that is not known. What lies outside LDS
  /// is left out: that is a fault of its own.
  void touch(const LdsOperation &operation, unsigned lane, uint64_t address, unsigned bytes, const uint32_t *data);
  /// The conflicts since the last call, the youngest one of each stream and kind.
  std::vector<LdsConflict> takeConflicts() { return std::exchange(conflicts, {}); }
  bool hasConflicts() const { return !conflicts.empty(); }

  /// Whether `wave` has done an atomic operation on the dword later than `epoch`.
  bool hasAtomicAfter(uint64_t address, uint32_t wave, uint32_t epoch) const;

  // What a lock or flag at an address hands on from wave to wave.

  bool hasClocks() const { return !clocks.empty(); }
  LdsClock *clockAt(uint64_t address); ///< null when there is none
  LdsClock &makeClockAt(uint64_t address);

private:
  struct Writer {
    uint32_t epoch = 0;
    uint8_t stream = 0, lane = 0;
    bool uniform = false, hasValue = false;
    uint32_t value = 0;
  };

  template <LdsAccess access>
  void touchAs(const LdsOperation &operation, unsigned lane, uint32_t address, unsigned bytes, const uint32_t *data);
  template <LdsAccess access>
  void touchCell(const LdsOperation &operation, unsigned lane, size_t cell, uint32_t address, unsigned bytes,
                 const uint32_t *value);
  void checkReads(const LdsOperation &operation, unsigned lane, size_t cell, uint32_t address, unsigned bytes);
  void checkAtomics(const LdsOperation &operation, unsigned lane, size_t cell, uint32_t address, unsigned bytes);
  void add(const LdsConflict &conflict);
  size_t splitInBytes(size_t word);

  uint32_t ldsBytes = 0, waves = 0;
  // A cell is a dword of LDS; one that is accessed by smaller pieces has four more cells behind all dwords, a byte
  // each.
  std::vector<Writer> writers;
  std::vector<uint32_t> reads;   ///< of each cell and wave: the epoch times 2, plus 1 for a uniform one
  std::vector<uint32_t> atomics; ///< of each cell and wave: the epoch; empty while there are none
  std::vector<uint32_t> splits;  ///< of each dword: its first byte's cell, or 0; empty while there are none
  std::vector<uint32_t> clockOf; ///< of each dword: its place in `clocks` plus 1
  std::vector<LdsClock> clocks;
  std::vector<LdsConflict> conflicts;
};

} // namespace heddle::simulator
