// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/memory/Cache.h"
#include <cstring>

namespace heddle::simulator {

ByteMask ByteMask::of(unsigned offset, unsigned size) {
  auto below = [](unsigned end) { return end >= 64 ? ~uint64_t(0) : (uint64_t(1) << end) - 1; };
  unsigned end = offset + size;
  return {{below(end) & ~below(offset), end > 64 ? below(end - 64) & ~below(offset > 64 ? offset - 64 : 0) : 0}};
}

void copyMasked(uint8_t *destination, const uint8_t *source, const ByteMask &mask) {
  if (mask.isAll()) {
    std::memcpy(destination, source, lineBytes);
    return;
  }
  for (unsigned half = 0; half < 2; ++half)
    for (uint64_t rest = mask.bits[half]; rest; rest &= rest - 1) {
      unsigned byte = 64 * half + unsigned(__builtin_ctzll(rest));
      destination[byte] = source[byte];
    }
}

static size_t hash(uint64_t address) {
  return size_t((address / lineBytes) * 0x9e3779b97f4a7c15u >> 24);
}

CacheLine *Cache::lookup(uint64_t address) {
  if (slots.empty())
    return nullptr;
  size_t last = slots.size() - 1; // a power of two
  for (size_t slot = hash(address) & last; slots[slot]; slot = (slot + 1) & last)
    if (CacheLine &line = lines[slots[slot] - 1]; line.address == address) {
      refresh(line);
      return &line;
    }
  return nullptr;
}

void Cache::grow() {
  slots.assign(slots.empty() ? 64 : 2 * slots.size(), 0);
  size_t last = slots.size() - 1;
  for (size_t i = 0; i < lines.size(); ++i) {
    size_t slot = hash(lines[i].address) & last;
    while (slots[slot])
      slot = (slot + 1) & last;
    slots[slot] = uint32_t(i + 1);
  }
}

CacheLine &Cache::get(uint64_t address) {
  if (CacheLine *line = lookup(address))
    return *line;
  if (2 * (lines.size() + 1) > slots.size())
    grow();
  size_t last = slots.size() - 1, slot = hash(address) & last;
  while (slots[slot])
    slot = (slot + 1) & last;
  CacheLine &line = lines.emplace_back();
  line.address = address;
  line.generation = generation;
  slots[slot] = uint32_t(lines.size());
  return line;
}

void Cache::clear() {
  slots.clear();
  lines.clear();
  dirtyLines.clear();
}

} // namespace heddle::simulator
