// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The vector cache by the last use of its lines, and bits of each line for the XCDs that have it.
#include "simulator/timing/MemoryLevels.h"

namespace heddle::simulator {

bool MemoryLevels::VectorCache::touch(uint64_t line) {
  // Four sets: few enough that a kernel's rows seldom fall on one of them alone.
  constexpr size_t sets = 4;
  size_t ways = lines.size() / sets, begin = line % sets * ways, oldest = begin;
  ++clock;
  for (size_t way = begin; way < begin + ways; ++way) {
    if (lines[way] == line) {
      used[way] = clock;
      return true;
    }
    if (used[way] < used[oldest])
      oldest = way;
  }
  lines[oldest] = line;
  used[oldest] = clock;
  return false;
}

uint16_t &MemoryLevels::bitsOf(uint64_t line) {
  uint64_t page = line / linesPerPage;
  if (page != lastPage) {
    auto &found = pages[page];
    if (!found)
      found = std::make_unique<std::array<uint16_t, linesPerPage>>();
    lastPage = page;
    last = found.get();
  }
  return (*last)[line % linesPerPage];
}

void MemoryLevels::fetch(uint64_t line, unsigned xcd, LevelCounts &counts) {
  ++counts.fromL2;
  uint16_t &bits = bitsOf(line), own = uint16_t(1u << xcd);
  if (!(bits & own)) {
    ++counts.fromLastLevel;
    ++traffic.lastLevel;
  }
  if (!bits) {
    ++counts.fromMemory;
    ++traffic.read;
  }
  bits |= own;
}

void MemoryLevels::write(uint64_t line, unsigned xcd) {
  uint16_t &bits = bitsOf(line);
  traffic.written += !(bits & isWritten);
  bits |= uint16_t(isWritten | 1u << xcd);
}

LevelCounts MemoryLevels::load(std::span<const uint64_t> lines, unsigned xcd, bool isTimed, bool skipsVectorCache) {
  LevelCounts counts;
  counts.lines = unsigned(lines.size());
  for (uint64_t line : lines)
    if (!isTimed || skipsVectorCache || !vectorCache.touch(line))
      fetch(line, xcd, counts);
  return counts;
}

LevelCounts MemoryLevels::loadScalar(std::span<const uint64_t> lines, unsigned xcd, bool isTimed) {
  LevelCounts counts;
  counts.lines = unsigned(lines.size());
  for (uint64_t line : lines)
    if (!isTimed || scalarLines.insert(line).second)
      fetch(line, xcd, counts);
  return counts;
}

LevelCounts MemoryLevels::store(std::span<const uint64_t> lines, unsigned xcd) {
  LevelCounts counts;
  counts.lines = counts.fromL2 = unsigned(lines.size());
  for (uint64_t line : lines)
    write(line, xcd);
  return counts;
}

LevelCounts MemoryLevels::update(std::span<const uint64_t> lines, unsigned xcd) {
  LevelCounts counts;
  counts.lines = unsigned(lines.size());
  for (uint64_t line : lines) {
    fetch(line, xcd, counts);
    write(line, xcd);
  }
  return counts;
}

} // namespace heddle::simulator
