// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What LdsCheck keeps for the LDS of a workgroup: for each dword when it was written last and by whom, and when each
// wave last read it. Time counts the workgroup's operations on LDS. Each wave is two streams, its DS operations and its
// loads to LDS, and a clock says up to which time the operations of each stream are known to be over.
#pragma once
#include "simulator/memory/MemoryRequest.h"
#include <algorithm>
#include <array>
#include <unordered_map>
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
  /// What is not later than this is over in all streams.
  uint32_t floor() const {
    uint32_t least = over[0];
    for (uint32_t time : over) // no search for where it is: vector code
      least = std::min(least, time);
    return least;
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

/// One wave's operation on LDS.
struct LdsOperation {
  LdsAccess access = LdsAccess::Read;
  bool uniform = false; ///< all lanes access the same place, as those of a flag do
  uint32_t wave = 0, time = 0;
  LdsClock before;    ///< what comes before it
  uint32_t floor = 0; ///< of `before`
};

/// The places of its lanes: `bytes` at each address. `data` is what lane 0 stores, words of other lanes follow as in
/// MemoryRequest::data; null when that is not known.
struct LdsPlaces {
  uint64_t lanes = 0;
  const uint64_t *address = nullptr;
  unsigned bytes = 0;
  const uint32_t *data = nullptr;
};

/// An earlier operation on the same bytes that may not be over.
struct LdsConflict {
  LdsAccess access = LdsAccess::Read; ///< of the earlier one
  uint32_t stream = 0, time = 0;
  uint32_t address = 0, bytes = 4; ///< in LDS
  int lane = -1, earlierLane = -1;
  bool earlierUniform = false;
  bool sameValue = false; ///< both write, the same value
  bool isUnknown = false; ///< both write, and what one of them brought is not known any more
};

/// A conflict of two writes of which one is a load to LDS: whether they bring the same is known when both have landed.
struct LdsDoubt {
  LdsConflict conflict;
  bool knowsEarlier = false, knowsLater = false; ///< stores; of loads to LDS only the lane is known
  uint32_t earlierValue = 0, laterValue = 0;     ///< a byte's is in the low bits
};

class LdsShadow {
public:
  /// For a workgroup that begins: nothing was accessed.
  void start(uint32_t ldsBytes, uint32_t waves);
  uint32_t sizeBytes() const { return ldsBytes; }
  uint32_t now = 0; ///< of the last operation

  /// What lies outside LDS is left out: that is a fault of its own.
  void touch(const LdsOperation &operation, const LdsPlaces &places);
  /// The conflicts since the last call, the youngest one of each kind and stream.
  std::vector<LdsConflict> takeConflicts() { return std::exchange(conflicts, {}); }
  bool hasConflicts() const { return !conflicts.empty(); }
  /// Those since the last call that landing decides, of each cell.
  std::vector<LdsDoubt> takeDoubts() { return std::exchange(doubts, {}); }
  bool hasDoubts() const { return !doubts.empty(); }
  /// Everything up to this time is over for all waves.
  void forgetUpTo(uint32_t time) {
    if (time >= lastTwin && !twins.empty())
      twins.clear(), twinCount = 0;
  }

  bool hasAtomics(uint32_t wave) const { return !atomics[wave].empty(); }
  /// Whether `wave` has done an atomic operation at the address later than `time`.
  bool hasAtomicAfter(uint64_t address, uint32_t wave, uint32_t time) const;

  // What a lock or flag at an address hands on from wave to wave.

  bool hasClocks() const { return !clocks.empty(); }
  LdsClock *clockAt(uint64_t address); ///< null when there is none
  LdsClock &makeClockAt(uint64_t address);

private:
  using Times = std::vector<uint32_t>; ///< of each cell
  struct Writer {
    uint8_t stream = 0, lane = 0;
    bool uniform : 1 = false, hasValue : 1 = false;
    bool hasTwins : 1 = false; ///< perhaps
    uint32_t value = 0;
  };
  /// A write before the last one of a cell, of the same value and not ordered before it: a third write of another value
  /// races with both.
  struct Twin {
    Writer writer;
    uint32_t time;
  };
  static constexpr size_t mostTwins = 1 << 17;
  struct Piece {
    unsigned lane;
    uint32_t address, bytes;
    const uint32_t *value; ///< a byte's is in the low bits
  };

  template <LdsAccess access>
  void touchAs(const LdsOperation &operation, const LdsPlaces &places);
  template <LdsAccess access>
  bool touchRow(const LdsOperation &operation, const LdsPlaces &places);
  template <unsigned words>
  void touchWholeReads(const LdsOperation &operation, const LdsPlaces &places);
  bool touchWholeReads(const LdsOperation &operation, const LdsPlaces &places);
  void addRacesOfReads(const LdsOperation &operation, const LdsPlaces &places);
  template <LdsAccess access, unsigned words>
  bool touchQuietWrites(const LdsOperation &operation, const LdsPlaces &places);
  template <LdsAccess access>
  bool touchQuietWrites(const LdsOperation &operation, const LdsPlaces &places);
  bool areAllWritesOver(const LdsOperation &operation, bool reading) const;
  bool areOver(const LdsOperation &operation, const LdsPlaces &places, bool reading) const;
  bool areWholeWords(const LdsPlaces &places) const;
  template <LdsAccess access>
  void touchLane(const LdsOperation &operation, const LdsPlaces &places, unsigned lane);
  template <LdsAccess access>
  void touchBytes(const LdsOperation &operation, const LdsPlaces &places, unsigned lane);
  template <LdsAccess access>
  void touchCell(const LdsOperation &operation, size_t cell, const Piece &piece);
  bool checkWriter(const LdsOperation &operation, size_t cell, const Piece &piece);
  bool checkAgainst(const LdsOperation &operation, const Writer &writer, uint32_t time, const Piece &piece);
  void listReaders(const LdsOperation &operation);
  void checkReads(const LdsOperation &operation, size_t cell, const Piece &piece);
  void checkAtomics(const LdsOperation &operation, size_t cell, const Piece &piece);
  bool isQuiet(const LdsOperation &operation, size_t cell, size_t count) const;
  void add(const LdsConflict &conflict);
  size_t splitInBytes(size_t word);
  void reach(const LdsPlaces &places);
  void growTo(size_t words);

  uint32_t ldsBytes = 0, waves = 0;
  // A cell is a dword of LDS; one that is accessed by smaller pieces has four more cells after all dwords, a byte
  // each. Until then there are cells up to the last dword that was accessed, and some more: many kernels use little of
  // the LDS that they ask for.
  Times written;
  std::vector<Writer> writers;
  Times reads[mostGroupWaves];            ///< twice the time, plus 1 for a uniform one
  LdsClock lastWritten;                   ///< times of each stream's last write of any cell
  uint32_t lastRead[mostGroupWaves] = {}; ///< of each wave's last read of any cell
  uint32_t readers[mostGroupWaves] = {};  ///< waves some of whose reads may not be over for the current operation
  uint32_t readerCount = 0;
  Times atomics[mostGroupWaves]; ///< empty while there are none
  std::vector<uint32_t> splits;  ///< of each dword: its first byte's cell, or 0; empty while there are none
  std::vector<uint32_t> clockOf; ///< of each dword: its place in `clocks` plus 1
  std::vector<LdsClock> clocks;
  std::vector<LdsConflict> conflicts;
  std::vector<LdsDoubt> doubts;
  std::unordered_map<size_t, std::vector<Twin>> twins; ///< by cell
  size_t twinCount = 0;                                ///< that were kept since the last clearing
  uint32_t lastTwin = 0;                               ///< time of the youngest one's successor
};

} // namespace heddle::simulator
