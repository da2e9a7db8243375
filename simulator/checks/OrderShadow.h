// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What OrderCheck keeps for global memory: of each four bytes (a cell) the last accesses. What the lanes of a wave
// access side by side is kept as one record for all its cells, until something happens to a part of them.
#pragma once
#include "simulator/checks/Knowledge.h"
#include "simulator/memory/LinePool.h"
#include "simulator/state/Wave.h"
#include <cstddef>
#include <memory>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace heddle::simulator {

/// An access, as a cell remembers it.
struct AccessStamp {
  uint32_t wave = 0, epoch = 0; ///< epoch 0: no access
  uint32_t instruction = 0;     ///< index
  uint8_t lane = 0;
  uint8_t bytes = 0; ///< a bit for each of the cell's four
  uint8_t stream : 2 = 0;
  uint8_t scope : 2 = 0;
  uint8_t writes : 1 = 0;
  uint8_t isAtomic : 1 = 0;      ///< carries a scope, or is a read-modify-write
  uint8_t inScalarCache : 1 = 0; ///< a store that later scalar loads of its wave see
};

/// Says what is ordered before the current access, and is told what is not.
class AccessJudge {
public:
  virtual ~AccessJudge() = default;
  /// Up to which epoch accesses are ordered before.
  virtual uint32_t knownEpoch(uint32_t wave, Stream stream) const = 0;
  /// Whether a scalar load never sees that store, whatever the order.
  virtual bool isHidden(const AccessStamp &store, const AccessStamp &load) const = 0;
  /// Whether two accesses with a scope need no order: both scopes hold both waves.
  virtual bool areCoherent(const AccessStamp &before, const AccessStamp &now) const = 0;
  virtual void race(const AccessStamp &before, const AccessStamp &now, uint64_t address) = 0;

  bool isBefore(const AccessStamp &stamp) {
    uint32_t id = Knowledge::idOf(stamp.wave, Stream(stamp.stream));
    Answer &answer = answers[stamp.wave % std::size(answers)];
    if (answer.id != id)
      answer = {id, knownEpoch(stamp.wave, Stream(stamp.stream))};
    return stamp.epoch <= answer.epoch;
  }

private:
  struct Answer {
    uint32_t id = ~0u, epoch = 0;
  };
  Answer answers[32] = {};
};

class OrderShadow {
public:
  void clear();
  /// Accesses of `bytes` each, side by side: by lanes that follow each other from `stamp.lane` on, or of a scalar load.
  /// Whether anything raced.
  bool touchRow(AccessJudge &judge, uint64_t address, unsigned bytes, unsigned count, const AccessStamp &stamp);
  /// One access.
  bool touch(AccessJudge &judge, uint64_t address, unsigned bytes, const AccessStamp &stamp);

private:
  static constexpr unsigned stampsPerCell = 4, cellsPerBlock = 64, blocksPerPage = 128, mostSegments = 4;

  struct Cell {
    AccessStamp stamps[stampsPerCell];
  };
  /// Which lane accessed a cell of a segment: `perCell` lanes a cell, or one for `cellsPerLane` cells, counted from the
  /// cell `origin` of the block, which may lie before it. Stamps hold the first lane.
  struct LaneRule {
    int16_t origin = 0;
    uint8_t perCell = 0, cellsPerLane = 1; ///< perCell 0: the same lane for all
    unsigned lanesBefore(unsigned cell) const { return unsigned(int(cell) - origin) * perCell / cellsPerLane; }
  };
  /// Cells that are alike, up to `end` in the block.
  struct Segment : Cell {
    LaneRule rules[stampsPerCell];
    uint8_t end = cellsPerBlock;
    Cell cellAt(unsigned index) const;
  };
  /// What most memory of a kernel has seen is one access, of all cells of the block alike.
  struct Block {
    AccessStamp only;
    LaneRule rule;          ///< of `only`
    uint8_t count = 0;      ///< of segments; 0: `only` is all there is
    uint8_t room = 0;       ///< for segments
    bool isInCells = false; ///< instead of segments
    union {
      Segment *segments = nullptr;
      Cell *cells;
    };
  };
  static_assert(sizeof(Block) == 32);
  struct Page {
    Block blocks[blocksPerPage];
  };
  struct RecentPage {
    uint64_t number = ~uint64_t(0);
    Page *page = nullptr;
  };
  /// What happens to each of a number of cells: the stamps in this order, the first one's bytes at `offset`, each
  /// other's `step` after.
  struct Touch {
    AccessStamp stamps[4];
    unsigned count = 1, offset = 0, step = 0;
    LaneRule rule;
  };
  struct Verdict {
    uint8_t races = 0, cleared = 0; ///< a bit for each stamp
    uint8_t place = stampsPerCell;
  };
  struct Relation {
    bool races = false, isCovered = false; ///< who is ordered after the new one is ordered after the old one
  };

  bool touchCells(AccessJudge &judge, uint64_t firstCell, unsigned count, Touch &touch);
  bool touchBlock(AccessJudge &judge, Block &block, uint64_t address, unsigned first, unsigned end, const Touch &touch);
  bool touchCell(AccessJudge &judge, Cell &cell, uint64_t address, unsigned index, const Touch &touch);
  static bool touchWhole(AccessJudge &judge, Block &block, const Touch &touch);
  static bool touchSegment(AccessJudge &judge, Segment &segment, const Touch &touch);
  static Relation relate(AccessJudge &judge, const AccessStamp &other, const AccessStamp &now);
  static Verdict judgeStamps(AccessJudge &judge, const Cell &cell, const AccessStamp &now);
  /// Uninitialised arrays of `count`, which lie side by side and end together.
  template <typename T, std::size_t count>
  class Arrays {
  public:
    T *take() {
      if (used == perChunk) {
        chunks.emplace_back(static_cast<std::byte *>(::operator new(sizeof(T) * count * perChunk)));
        used = 0;
      }
      return reinterpret_cast<T *>(chunks.back().get()) + count * used++;
    }
    void clear() {
      chunks.clear();
      used = perChunk;
    }

  private:
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T> &&
                  alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    struct Free {
      void operator()(std::byte *chunk) const { ::operator delete(chunk); }
    };
    static constexpr std::size_t perChunk = sizeof(T) * count < 1024 ? 64 : 8;
    std::vector<std::unique_ptr<std::byte, Free>> chunks;
    std::size_t used = perChunk; ///< of the last chunk
  };

  void splitInSegments(Block &block, bool inSeveral);
  bool cutAt(Block &block, unsigned cell);
  void splitInCells(Block &block);
  Block &blockOf(uint64_t cell);

  static_assert(sizeof(Page) <= LinePool::pieceBytes && alignof(Page) <= LinePool::alignment &&
                std::is_trivially_destructible_v<Page>);
  std::unordered_map<uint64_t, Page *> pages;
  LinePool pool; ///< where they lie
  RecentPage recent[64];
  Arrays<Segment, 1> oneSegments; ///< that blocks point to
  Arrays<Segment, mostSegments> manySegments;
  Arrays<Cell, cellsPerBlock> manyCells;
};

} // namespace heddle::simulator
