// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks, segments and cells: a record is split only where accesses differ, so that most of memory needs few.
#include "simulator/checks/OrderShadow.h"
#include <algorithm>
#include <utility>

namespace heddle::simulator {

void OrderShadow::clear() {
  for (auto &[number, page] : pages)
    pool.give(page);
  pages.clear();
  oneSegments.clear();
  manySegments.clear();
  manyCells.clear();
  std::fill(std::begin(recent), std::end(recent), RecentPage());
}

OrderShadow::Block &OrderShadow::blockOf(uint64_t cell) {
  uint64_t number = cell / (cellsPerBlock * blocksPerPage);
  RecentPage &place = recent[number % std::size(recent)];
  if (place.number != number) {
    Page *&page = pages[number];
    if (!page)
      page = new (pool.take()) Page;
    place = {number, page};
  }
  return place.page->blocks[cell / cellsPerBlock % blocksPerPage];
}

// ---- Segments ----

OrderShadow::Cell OrderShadow::Segment::cellAt(unsigned index) const {
  Cell cell = *this;
  for (unsigned i = 0; i < stampsPerCell; ++i)
    cell.stamps[i].lane = uint8_t(cell.stamps[i].lane + rules[i].lanesBefore(index));
  return cell;
}

/// One segment, of what the block has seen as a whole; `inSeveral`: more follow at once.
void OrderShadow::splitInSegments(Block &block, bool inSeveral) {
  block.segments = new (inSeveral ? manySegments.take() : oneSegments.take()) Segment;
  block.room = inSeveral ? mostSegments : 1;
  block.count = 1;
  if (!block.only.epoch)
    return;
  block.segments->stamps[0] = block.only;
  block.segments->rules[0] = block.rule;
}

void OrderShadow::splitInCells(Block &block) {
  Cell *cells = manyCells.take();
  unsigned index = 0;
  for (const Segment *segment = block.segments; index < cellsPerBlock; ++segment)
    for (; index < segment->end; ++index)
      cells[index] = segment->cellAt(index);
  block.cells = cells;
  block.isInCells = true;
}

/// A segment ends there; false when there are too many.
bool OrderShadow::cutAt(Block &block, unsigned cell) {
  unsigned index = 0;
  while (block.segments[index].end < cell)
    ++index;
  if (cell == 0 || block.segments[index].end == cell)
    return true;
  if (block.count == mostSegments)
    return false;
  if (block.room == 1) {
    Segment *one = std::exchange(block.segments, manySegments.take());
    block.segments[0] = *one;
    block.room = mostSegments;
  }
  Segment *segment = block.segments + index;
  std::copy_backward(segment, block.segments + block.count, block.segments + block.count + 1);
  segment->end = uint8_t(cell);
  ++block.count;
  return true;
}

// ---- Accesses ----

OrderShadow::Relation OrderShadow::relate(AccessJudge &judge, const AccessStamp &other, const AccessStamp &now) {
  bool overlaps = other.bytes & now.bytes, conflicts = other.writes | now.writes;
  bool isBefore = other.wave == now.wave || judge.isBefore(other);
  // The scalar cache hears of no store of this launch, not even of the wave's own.
  bool isScalar = now.stream == uint8_t(Stream::ScalarRead) && other.writes;
  bool races = overlaps && conflicts && (!isBefore || (isScalar && judge.isHidden(other, now)));
  if (races && other.isAtomic && now.isAtomic)
    races = !judge.areCoherent(other, now);
  return {races, isBefore && !(other.bytes & ~now.bytes) && (now.writes || !other.writes)};
}

/// What becomes of the stamps of a cell.
OrderShadow::Verdict OrderShadow::judgeStamps(AccessJudge &judge, const Cell &cell, const AccessStamp &now) {
  Verdict verdict;
  unsigned empty = stampsPerCell, read = stampsPerCell;
  for (unsigned i = 0; i < stampsPerCell; ++i) {
    const AccessStamp &other = cell.stamps[i];
    if (!other.epoch) {
      empty = std::min(empty, i);
      continue;
    }
    Relation relation = relate(judge, other, now);
    verdict.races |= uint8_t(relation.races << i);
    if (!relation.isCovered)
      read = other.writes ? read : i;
    else if (verdict.place == stampsPerCell)
      verdict.place = uint8_t(i);
    else
      verdict.cleared |= uint8_t(1u << i);
  }
  if (verdict.place == stampsPerCell)
    verdict.place = uint8_t(empty < stampsPerCell ? empty : read < stampsPerCell ? read : now.epoch % stampsPerCell);
  return verdict;
}

bool OrderShadow::touchCell(AccessJudge &judge, Cell &cell, uint64_t address, unsigned index, const Touch &touch) {
  bool races = false;
  for (unsigned number = 0; number < touch.count; ++number) {
    AccessStamp now = touch.stamps[number];
    now.lane = uint8_t(now.lane + touch.rule.lanesBefore(index));
    Verdict verdict = judgeStamps(judge, cell, now);
    for (unsigned i = 0; i < stampsPerCell; ++i) {
      if (verdict.races >> i & 1)
        judge.race(cell.stamps[i], now, address + touch.offset + number * touch.step);
      if (verdict.cleared >> i & 1)
        cell.stamps[i] = {};
    }
    cell.stamps[verdict.place] = now;
    races |= verdict.races;
  }
  return races;
}

/// All cells of a block that nothing but one access has seen as yet. False, and nothing is changed, when more has to be
/// kept.
bool OrderShadow::touchWhole(AccessJudge &judge, Block &block, const Touch &touch) {
  const AccessStamp &now = touch.stamps[0];
  if (touch.count > 1)
    return false;
  if (block.only.epoch)
    if (Relation relation = relate(judge, block.only, now); relation.races || !relation.isCovered)
      return false;
  block.only = now;
  block.rule = touch.rule;
  return true;
}

/// False, and nothing is changed, when anything races: then each cell has its own report.
bool OrderShadow::touchSegment(AccessJudge &judge, Segment &segment, const Touch &touch) {
  if (touch.count == 1) { // as nearly all have: no copy is needed
    Verdict verdict = judgeStamps(judge, segment, touch.stamps[0]);
    if (verdict.races)
      return false;
    for (unsigned i = 0; i < stampsPerCell && verdict.cleared; ++i)
      if (verdict.cleared >> i & 1)
        segment.stamps[i] = {};
    segment.stamps[verdict.place] = touch.stamps[0];
    segment.rules[verdict.place] = touch.rule;
    return true;
  }
  Segment changed = segment;
  for (unsigned number = 0; number < touch.count; ++number) {
    Verdict verdict = judgeStamps(judge, changed, touch.stamps[number]);
    if (verdict.races)
      return false;
    for (unsigned i = 0; i < stampsPerCell; ++i)
      if (verdict.cleared >> i & 1)
        changed.stamps[i] = {};
    changed.stamps[verdict.place] = touch.stamps[number];
    changed.rules[verdict.place] = touch.rule;
  }
  segment = changed;
  return true;
}

/// `address` is the block's.
bool OrderShadow::touchBlock(AccessJudge &judge, Block &block, uint64_t address, unsigned first, unsigned end,
                             const Touch &touch) {
  if (!block.count && first == 0 && end == cellsPerBlock && touchWhole(judge, block, touch))
    return false;
  if (!block.count)
    splitInSegments(block, first > 0 || end < cellsPerBlock);
  if (!block.isInCells) // the cells of a segment, as often
    for (unsigned index = 0, begin = 0; index < block.count && begin <= first; begin = block.segments[index++].end)
      if (begin == first && block.segments[index].end == end) {
        if (touchSegment(judge, block.segments[index], touch))
          return false;
        break;
      }
  if (!block.isInCells && (!cutAt(block, first) || !cutAt(block, end)))
    splitInCells(block);
  if (!block.isInCells) {
    Segment *segment = block.segments;
    while (segment->end <= first)
      ++segment;
    for (; first < end && touchSegment(judge, *segment, touch); ++segment)
      first = segment->end;
    if (first < end)
      splitInCells(block);
  }
  bool races = false;
  for (unsigned index = first; index < end; ++index)
    races |= touchCell(judge, block.cells[index], address + 4 * index, index, touch);
  return races;
}

bool OrderShadow::touchCells(AccessJudge &judge, uint64_t firstCell, unsigned count, Touch &touch) {
  bool races = false;
  for (uint64_t cell = firstCell, end = firstCell + count; cell < end;) {
    uint64_t start = cell / cellsPerBlock * cellsPerBlock;
    uint64_t last = std::min<uint64_t>(end, start + cellsPerBlock);
    touch.rule.origin = int16_t(int64_t(firstCell - start));
    races |= touchBlock(judge, blockOf(cell), 4 * start, unsigned(cell - start), unsigned(last - start), touch);
    cell = last;
  }
  return races;
}

bool OrderShadow::touchRow(AccessJudge &judge, uint64_t address, unsigned bytes, unsigned count,
                           const AccessStamp &stamp) {
  Touch touch;
  bool isScalar = stamp.stream == uint8_t(Stream::ScalarRead);
  touch.count = bytes < 4 ? 4 / bytes : 1;
  touch.step = bytes;
  touch.rule.perCell = uint8_t(isScalar ? 0 : touch.count);
  touch.rule.cellsPerLane = uint8_t(std::max(1u, bytes / 4));
  for (unsigned i = 0; i < touch.count; ++i) {
    touch.stamps[i] = stamp;
    touch.stamps[i].bytes = uint8_t(bytes < 4 ? ((1u << bytes) - 1) << i * bytes : 0xf);
    touch.stamps[i].lane = uint8_t(stamp.lane + i);
  }
  return touchCells(judge, address / 4, count * bytes / 4, touch);
}

bool OrderShadow::touch(AccessJudge &judge, uint64_t address, unsigned bytes, const AccessStamp &stamp) {
  bool races = false;
  for (uint64_t end = address + bytes; address < end;) {
    Touch touch;
    touch.offset = address % 4;
    unsigned part = unsigned(std::min<uint64_t>(4 - touch.offset, end - address));
    unsigned cells = part < 4 ? 1 : unsigned(end - address) / 4;
    touch.stamps[0] = stamp;
    touch.stamps[0].bytes = uint8_t(((1u << part) - 1) << touch.offset);
    races |= touchCells(judge, address / 4, cells, touch);
    address += part < 4 ? part : 4 * cells;
  }
  return races;
}

} // namespace heddle::simulator
