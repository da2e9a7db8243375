// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which lines a cache has of memory that nothing writes: a bit for each, because their bytes are those of that memory.
// Most of what kernels read is such memory.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::simulator {

class LentLines {
public:
  static constexpr unsigned linesPerGroup = 64;

  /// The cache gets the lines of group `number` that `lines` names. Those of them that it lacked.
  uint64_t add(uint64_t number, uint64_t lines, uint32_t generation) {
    Group &group = find(number);
    if (group.generation != generation) {
      group.valid = 0;
      group.generation = generation;
    }
    uint64_t missing = lines & ~group.valid;
    lineCount += unsigned(std::popcount(lines & ~group.known));
    group.valid |= lines;
    group.known |= lines;
    return missing;
  }
  /// Lines that it has had since the last clearing.
  size_t size() const { return lineCount; }
  void clear() {
    groups.clear();
    groupCount = lineCount = recent = 0;
  }
  /// Calls `action(line, isValid)` with the number of each line that lies in [first, end), and forgets it.
  template <typename Action>
  void take(uint64_t first, uint64_t end, uint32_t generation, Action action) {
    for (Group &group : groups) {
      uint64_t begin = group.number * linesPerGroup;
      if (!group.known || begin >= end || begin + linesPerGroup <= first)
        continue;
      for (uint64_t rest = group.known; rest; rest &= rest - 1) {
        unsigned bit = unsigned(std::countr_zero(rest));
        if (begin + bit < first || begin + bit >= end)
          continue;
        action(begin + bit, group.generation == generation && (group.valid >> bit & 1));
        group.known &= ~(uint64_t(1) << bit);
        group.valid &= group.known;
        --lineCount;
      }
    }
  }

private:
  struct Group {
    uint64_t number = 0; ///< 0: none; no memory lies there
    uint64_t known = 0, valid = 0;
    uint32_t generation = 0; ///< of the cache, when `valid` was true
  };

  Group &find(uint64_t number) {
    if (recent < groups.size() && groups[recent].number == number)
      return groups[recent];
    if (2 * (groupCount + 1) > groups.size())
      grow();
    recent = placeOf(number);
    groupCount += groups[recent].number == 0;
    groups[recent].number = number;
    return groups[recent];
  }
  size_t placeOf(uint64_t number) const {
    size_t last = groups.size() - 1; // a power of two
    size_t at = number * 0x9e3779b97f4a7c15u >> 32 & last;
    while (groups[at].number && groups[at].number != number)
      at = (at + 1) & last;
    return at;
  }
  void grow() {
    std::vector<Group> old(groups.empty() ? 16 : 2 * groups.size());
    old.swap(groups);
    for (const Group &group : old)
      if (group.number)
        groups[placeOf(group.number)] = group;
  }

  std::vector<Group> groups; ///< open addressing
  size_t groupCount = 0, lineCount = 0;
  size_t recent = 0; ///< the place that was found last
};

} // namespace heddle::simulator
