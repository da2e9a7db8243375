// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The lines of global memory that a vector memory request touches, each once. Lanes that are masked by a descriptor's
// range, or lead to LDS or scratch, touch nothing.
#pragma once
#include "simulator/memory/MemoryPort.h"
#include <algorithm>
#include <span>

namespace heddle::simulator {

class LineSet {
public:
  explicit LineSet(const MemoryRequest &request) {
    bool isWhole = std::all_of(request.inRange, request.inRange + (request.bytes + 3u) / 4,
                               [](uint64_t lanes) { return lanes == allLanes; });
    if (isWhole && isRowOfLanes(request) && request.space != Space::Flat) {
      add(request.address[0], uint64_t(request.bytes) * waveLanes);
      return;
    }
    forGlobalWords(request, [&](uint64_t address, unsigned bytes) { add(address, bytes); });
    std::sort(lines, lines + count);
    count = unsigned(std::unique(lines, lines + count) - lines);
  }
  std::span<const uint64_t> all() const { return {lines, count}; } ///< numbers of lines of lineBytes, in their order
  unsigned size() const { return count; }

private:
  void add(uint64_t address, uint64_t size) {
    for (uint64_t line = address / lineBytes; line <= (address + size - 1) / lineBytes; ++line)
      if (count == 0 || lines[count - 1] != line)
        lines[count++] = line;
  }

  uint64_t lines[2 * waveLanes * mostWordsPerLane];
  unsigned count = 0;
};

} // namespace heddle::simulator
